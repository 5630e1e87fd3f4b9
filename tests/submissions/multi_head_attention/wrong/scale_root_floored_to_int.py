import math
import torch
from torch import nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    out = torch.stack([x[..., i * (D // n_heads):(i + 1) * (D // n_heads)] for i in range(n_heads)], dim=1)
    return out


def merge_heads(x):
    return torch.cat([x[:, i] for i in range(x.shape[1])], dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    root = math.isqrt(query.shape[-1])
    scores = torch.matmul(query, torch.transpose(key, -1, -2)) / root
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = nn.Softmax(dim=-1)(scores)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.lin_q = nn.Linear(d_model, d_model, bias=False)
        self.lin_k = nn.Linear(d_model, d_model, bias=False)
        self.lin_v = nn.Linear(d_model, d_model, bias=False)
        self.lin_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        Q = split_heads(self.lin_q(query), self.n_heads)
        K = split_heads(self.lin_k(key), self.n_heads)
        V = split_heads(self.lin_v(value), self.n_heads)
        context, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.lin_o(merge_heads(context)), weights
