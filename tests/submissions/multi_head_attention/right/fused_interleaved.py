"""Homework: multi-head attention.

One fused projection.  Its rows are grouped head by head: for every head first
the d_k query rows, then the d_k key rows, then the d_k value rows.
"""
import math

import torch
from torch import nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.permute(0, 2, 1, 3).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{n_heads} heads do not divide {d_model}")
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model, bias=False)

    def _rows(self, which):
        d_model = self.qkv.in_features
        w = self.qkv.weight.view(self.n_heads, 3, self.d_k, d_model)
        return w[:, which].reshape(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        if query is key and key is value:
            # self-attention: a single matmul for everything
            B, T, _ = query.shape
            y = self.qkv(query).view(B, T, self.n_heads, 3, self.d_k)
            q, k, v = y.permute(3, 0, 2, 1, 4)
        else:
            q = split_heads(F.linear(query, self._rows(0)), self.n_heads)
            k = split_heads(F.linear(key, self._rows(1)), self.n_heads)
            v = split_heads(F.linear(value, self._rows(2)), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.proj(merge_heads(out)), weights
