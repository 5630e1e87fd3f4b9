import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return x.view(x.shape[0], x.shape[1], n_heads, -1).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], -1)


def scaled_dot_product_attention(query, key, value, mask=None):
    z = query.matmul(key.transpose(-2, -1)) / key.size(-1) ** 0.5
    if mask is not None:
        z = z.masked_fill(mask.logical_not(), float("-inf"))
    z = z.softmax(-1)
    return z.matmul(value), z


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        head_dim = d_model // n_heads
        inner = head_dim * n_heads
        self.n_heads = n_heads
        self.Q = nn.Linear(d_model, inner, bias=False)
        self.K = nn.Linear(d_model, inner, bias=False)
        self.V = nn.Linear(d_model, inner, bias=False)
        self.O = nn.Linear(inner, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(f(t), self.n_heads) for f, t in ((self.Q, query), (self.K, key), (self.V, value)))
        c, w = scaled_dot_product_attention(q, k, v, mask)
        return self.O(merge_heads(c)), w
