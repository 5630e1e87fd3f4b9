"""Homework for lesson 115: multi-head attention."""

import math

import torch
from torch import nn


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    batch, length, d_model = x.shape
    return x.reshape(batch, length, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D)"""
    batch, n_heads, length, d_k = x.shape
    return x.transpose(1, 2).reshape(batch, length, n_heads * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    """softmax(Q Kᵀ / sqrt(d_k)) V. In the mask, True (or 1) means "may attend"."""
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"n_heads={n_heads} does not divide d_model={d_model}")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.n_heads)  # (B, H, T_q, d_k)
        k = split_heads(self.w_k(key), self.n_heads)  # (B, H, T_k, d_k)
        v = split_heads(self.w_v(value), self.n_heads)  # (B, H, T_k, d_k)
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(heads)), weights


if __name__ == "__main__":
    layer = MultiHeadAttention(d_model=32, n_heads=4)
    x = torch.randn(1, 6, 32)
    output, weights = layer(x, x, x)
    print("output", tuple(output.shape), "weights", tuple(weights.shape))
    print("rows sum to one:", torch.allclose(weights.sum(-1), torch.ones(1, 4, 6)))
