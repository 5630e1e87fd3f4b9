import math
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.transpose(torch.reshape(x, (x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads)), 1, 2)


def merge_heads(x):
    y = torch.transpose(x, 1, 2)
    return torch.reshape(y, (y.shape[0], y.shape[1], y.shape[2] * y.shape[3]))


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, torch.transpose(key, -2, -1)) / math.sqrt(key.shape[-1])
    if mask is not None:
        scores = torch.where(mask > 0, scores, -1e9)
    weights = torch.softmax(scores, -1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"d_model={d_model} n_heads={n_heads}")
        self.n_heads = n_heads
        self.scaling = (d_model // n_heads) ** -0.5
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = self.q_proj(query) * self.scaling
        k = self.k_proj(key)
        v = self.v_proj(value)
        if mask is not None:
            mask = mask.to(torch.uint8)
        out, weights = scaled_dot_product_attention(*(split_heads(t, self.n_heads) for t in (q, k, v)), mask)
        return self.out_proj(merge_heads(out)), weights


def _selftest():
    t = torch.randn(2, 5, 8)
    assert split_heads(t, 2).shape == (2, 2, 5, 4)
    assert merge_heads(split_heads(t, 2)).shape == t.shape
