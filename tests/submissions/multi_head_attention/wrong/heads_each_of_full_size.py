import math

import torch
from torch import nn


def split_heads(x, n_heads):
    b, t, d = x.size()
    return x.view(b, t, n_heads, d // n_heads).permute(0, 2, 1, 3) if x.is_contiguous() else split_heads(x.contiguous(), n_heads)


def merge_heads(x):
    return x.permute(0, 2, 1, 3).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        # every head works on all d_model features
        self.q = nn.Linear(d_model, d_model * n_heads, bias=False)
        self.k = nn.Linear(d_model, d_model * n_heads, bias=False)
        self.v = nn.Linear(d_model, d_model * n_heads, bias=False)
        self.o = nn.Linear(d_model * n_heads, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.n_heads)
        k = split_heads(self.k(key), self.n_heads)
        v = split_heads(self.v(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
