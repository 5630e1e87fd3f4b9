import torch
import torch.nn as nn


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.view(b, t, d // n_heads, n_heads).permute(0, 3, 1, 2)


def merge_heads(x):
    b, h, t, k = x.shape
    return x.permute(0, 2, 3, 1).reshape(b, t, k * h)


def scaled_dot_product_attention(query, key, value, mask=None):
    weights = torch.matmul(query, key.transpose(-2, -1)) / (query.shape[-1] ** 0.5)
    if mask is not None:
        weights = weights.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(weights, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model has to be divisible by n_heads")
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.wq(query), self.n_heads)
        k = split_heads(self.wk(key), self.n_heads)
        v = split_heads(self.wv(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.wo(merge_heads(out)), weights
