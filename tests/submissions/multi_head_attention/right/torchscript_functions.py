import math
from typing import Optional, Tuple

import torch
from torch import Tensor, nn


@torch.jit.script
def split_heads(x: Tensor, n_heads: int) -> Tensor:
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 2)


@torch.jit.script
def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)


@torch.jit.script
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
                                 mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    n_heads: int

    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
        q = split_heads(self.query(query), self.n_heads)
        k = split_heads(self.key(key), self.n_heads)
        v = split_heads(self.value(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), weights
