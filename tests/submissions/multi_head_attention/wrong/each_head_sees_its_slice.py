import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(x.split(x.size(-1) // n_heads, dim=-1)).transpose(0, 1)


def merge_heads(x):
    return torch.cat([x.select(1, h) for h in range(x.size(1))], dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    e = torch.matmul(query, key.transpose(-2, -1)) / (key.size(-1) ** 0.5)
    if mask is not None:
        e = e.masked_fill(mask == 0, -1e9)
    a = torch.nn.functional.softmax(e, dim=-1)
    return torch.matmul(a, value), a


class Head(nn.Module):
    def __init__(self, d_in, d_k):
        super().__init__()
        self.q = nn.Linear(d_in, d_k, bias=False)
        self.k = nn.Linear(d_in, d_k, bias=False)
        self.v = nn.Linear(d_in, d_k, bias=False)

    def forward(self, q, k, v, mask):
        return scaled_dot_product_attention(self.q(q), self.k(k), self.v(v), mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model must be a multiple of n_heads")
        d_k = d_model // n_heads
        self.heads = nn.ModuleList([Head(d_k, d_k) for _ in range(n_heads)])
        self.mix = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        n = len(self.heads)
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)
        q, k, v = split_heads(query, n), split_heads(key, n), split_heads(value, n)
        parts = [head(q[:, i], k[:, i], v[:, i], mask) for i, head in enumerate(self.heads)]
        out = merge_heads(torch.stack([p[0] for p in parts], dim=1))
        return self.mix(out), torch.stack([p[1] for p in parts], dim=1)
