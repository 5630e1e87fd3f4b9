from __future__ import annotations

import math
from typing import NamedTuple, Optional

import torch
import torch.nn.functional as F
from torch import nn


class Attended(NamedTuple):
    context: torch.Tensor
    attention: torch.Tensor


def split_heads(tensor: torch.Tensor, num_heads: int, /) -> torch.Tensor:
    batch, length, width = tensor.shape
    head = width // num_heads
    return tensor.reshape(batch * length, num_heads, head).reshape(batch, length, num_heads, head).swapdims(1, 2)


def merge_heads(tensor: torch.Tensor, /) -> torch.Tensor:
    return tensor.swapdims(1, 2).reshape(tensor.size(0), tensor.size(2), -1)


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: Optional[torch.Tensor] = None,
    temperature: Optional[float] = None,
    *,
    dropout_p: float = 0.0,
    fill: float = -1e7,
) -> Attended:
    """softmax(QKᵀ/√d_k)V; ``mask`` is True where attending is allowed."""
    if temperature is None:
        temperature = math.sqrt(key.size(-1))
    energy = query.matmul(key.transpose(-2, -1)).div(temperature)
    if mask is not None:
        energy = energy.masked_fill(mask.eq(0), fill)
    attention = energy.log_softmax(dim=-1).exp()
    return Attended(F.dropout(attention, dropout_p, training=dropout_p > 0).matmul(value), attention)


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int, attn_dropout: float = 0.1) -> None:
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError
        self.num_heads = num_heads
        self.attn_dropout = attn_dropout
        self.params = nn.ParameterDict()
        for name in ("value", "output", "key", "query"):
            self.params[name] = nn.Parameter(nn.init.xavier_normal_(torch.empty(embed_dim, embed_dim)))
            self.params[name + "_bias"] = nn.Parameter(torch.zeros(embed_dim))

    def affine(self, x: torch.Tensor, name: str) -> torch.Tensor:
        return torch.tensordot(x, self.params[name], dims=1) + self.params[name + "_bias"]

    def forward(self, query, key, value, mask=None) -> Attended:
        q, k, v = (split_heads(self.affine(x, n), self.num_heads)
                   for n, x in dict(query=query, key=key, value=value).items())
        context, attention = scaled_dot_product_attention(
            q, k, v, mask, dropout_p=self.attn_dropout if self.training else 0.0)
        return Attended(self.affine(merge_heads(context), "output"), attention)
