import math
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, hidden, heads):
        super().__init__()
        assert hidden % heads == 0
        self.hidden, self.heads = hidden, heads
        self.linear_q = nn.Linear(hidden, hidden)
        self.linear_k = nn.Linear(hidden, hidden)
        self.linear_v = nn.Linear(hidden, hidden)
        self.linear_out = nn.Linear(hidden, hidden)

    def forward(self, query, key, value, mask=None):
        b, seq = key.shape[:2]
        q = self.linear_q(query).reshape(b, seq, self.heads, -1).transpose(1, 2)
        k = self.linear_k(key).reshape(b, seq, self.heads, -1).transpose(1, 2)
        v = self.linear_v(value).reshape(b, seq, self.heads, -1).transpose(1, 2)
        ctx, weights = scaled_dot_product_attention(q, k, v, mask)
        ctx = ctx.transpose(1, 2).reshape(b, seq, self.hidden)
        return self.linear_out(ctx), weights
