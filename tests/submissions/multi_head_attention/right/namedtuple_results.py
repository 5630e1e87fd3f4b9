from typing import NamedTuple, Optional
import torch
from torch import nn


class AttentionResult(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor


def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask: Optional[torch.Tensor] = None) -> AttentionResult:
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores + mask.to(scores.dtype).log()      # log 1 = 0, log 0 = -inf
    weights = scores.softmax(dim=-1)
    return AttentionResult(output=weights @ value, weights=weights)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads = n_heads
        self.query_projection = nn.Linear(d_model, d_model, bias=False)
        self.key_value_projection = nn.Linear(d_model, 2 * d_model, bias=False)
        self.output_projection = nn.Linear(d_model, d_model, bias=True)

    def forward(self, query, key, value, mask=None) -> AttentionResult:
        w_k, w_v = self.key_value_projection.weight.chunk(2, dim=0)
        res = scaled_dot_product_attention(
            split_heads(self.query_projection(query), self.n_heads),
            split_heads(key @ w_k.T, self.n_heads),
            split_heads(value @ w_v.T, self.n_heads),
            mask,
        )
        return res._replace(output=self.output_projection(merge_heads(res.output)))
