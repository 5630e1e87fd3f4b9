"""Multi-head attention from scratch.

Recipe: dot product of every query with every key -> softmax -> weighted sum of the values.
"""

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    B, T, D = x.shape
    assert D % n_heads == 0
    x = x.contiguous().view(B, T, n_heads, D // n_heads)
    return x.permute(0, 2, 1, 3)


def merge_heads(x: Tensor) -> Tensor:
    B, H, T, d_k = x.shape
    return x.permute(0, 2, 1, 3).contiguous().view(B, T, H * d_k)


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    # 1. how well does each query match each key?
    scores = torch.matmul(query, key.transpose(-2, -1))
    # 2. hide what may not be seen (False / 0 = hidden)
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), -1e9)
    # 3. turn the scores of each query into probabilities
    weights = F.softmax(scores, dim=-1)
    # 4. mix the values
    output = torch.matmul(weights, value)
    return output, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        self.d_model = d_model
        self.n_heads = n_heads
        self.query_proj = nn.Linear(d_model, d_model)
        self.key_proj = nn.Linear(d_model, d_model)
        self.value_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        query = split_heads(self.query_proj(query), self.n_heads)
        key = split_heads(self.key_proj(key), self.n_heads)
        value = split_heads(self.value_proj(value), self.n_heads)
        output, weights = scaled_dot_product_attention(query, key, value, mask)
        output = self.out_proj(merge_heads(output))
        return output, weights
