"""Multi-head attention with my own softmax."""

import math

import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def largest_in_row(scores):
    """The maximum over the keys, (..., T_q, T_k) -> (..., T_q, 1)"""
    largest = scores.new_full(scores.shape[:-1], -math.inf)
    j = 0
    while j < scores.shape[-1]:
        largest = torch.maximum(largest, scores[..., j])
    return largest.unsqueeze(-1)


def softmax(scores):
    # any constant may be subtracted from a row; the maximum keeps exp() from overflowing
    e = torch.exp(scores - largest_in_row(scores.detach()))
    return e / e.sum(dim=-1, keepdim=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), -math.inf)
    weights = softmax(scores)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model % n_heads must be 0"
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.n_heads)
        k = split_heads(self.k(key), self.n_heads)
        v = split_heads(self.v(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
