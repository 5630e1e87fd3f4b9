from __future__ import annotations

import math
from typing import TYPE_CHECKING

import torch
import torch.nn.functional as F
from torch import nn

if TYPE_CHECKING:
    from torch import Tensor


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    batch, heads, length, width = x.shape
    return x.transpose(1, 2).reshape(batch, length, heads * width)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), -math.inf)
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"d_model ({d_model}) % n_heads ({n_heads}) != 0")
        self.n_heads = n_heads
        self.in_proj = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        parts = zip((query, key, value), self.in_proj.weight.chunk(3))
        q, k, v = (split_heads(F.linear(x, w), self.n_heads) for x, w in parts)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(merge_heads(out)), weights


if __name__ == "__main__":
    torch.manual_seed(0)
    mine = MultiHeadAttention(32, 4)
    theirs = nn.MultiheadAttention(32, 4, bias=False, batch_first=True)
    with torch.no_grad():
        theirs.in_proj_weight.copy_(mine.in_proj.weight)
        theirs.out_proj.weight.copy_(mine.out_proj.weight)
    x, y = torch.randn(2, 5, 32), torch.randn(2, 7, 32)
    for a, b in zip(mine(x, y, y), theirs(x, y, y, average_attn_weights=False)):
        torch.testing.assert_close(a, b)
    q = torch.randn(2, 4, 5, 8)
    torch.testing.assert_close(scaled_dot_product_attention(q, q, q)[0], F.scaled_dot_product_attention(q, q, q))
    print("same as PyTorch")
