import math
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat([h.squeeze(1) for h in x.split(1, dim=1)], dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = math.sqrt(query.size(-1))
    scores = scale * torch.matmul(query, key.transpose(-1, -2))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads has to divide d_model")
        self.h = n_heads
        bound = 1 / math.sqrt(d_model)
        self.Wq = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.Wk = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.Wv = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.Wo = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))

    def forward(self, query, key, value, mask=None):
        q = split_heads(query @ self.Wq, self.h)
        k = split_heads(key @ self.Wk, self.h)
        v = split_heads(value @ self.Wv, self.h)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return merge_heads(out) @ self.Wo, w
