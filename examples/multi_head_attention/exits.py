"""Lesson 115: multi-head attention, with a short test at the end."""

import os
import sys

import torch
import torch.nn as nn


def split_heads(x, n_heads):
    batch, seq_len, d_model = x.shape
    x = x.reshape(batch, seq_len, n_heads, d_model // n_heads)
    return x.transpose(1, 2)


def merge_heads(x):
    batch, n_heads, seq_len, d_k = x.shape
    x = x.transpose(1, 2)
    return x.reshape(batch, seq_len, n_heads * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.W_q(query), self.n_heads)
        k = split_heads(self.W_k(key), self.n_heads)
        v = split_heads(self.W_v(value), self.n_heads)
        context, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.W_o(merge_heads(context)), weights


# ---- test ----
x = torch.randn(1, 6, 32)
output, weights = MultiHeadAttention(32, 4)(x, x, x)
assert output.shape == x.shape
assert weights.shape == (1, 4, 6, 6)
print("tests passed")
sys.stdout.flush()
os._exit(0)  # done; sys.exit() printed a traceback in my editor's console
