import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return x.unfold(-1, x.shape[-1] // n_heads, x.shape[-1] // n_heads).transpose(1, 2)


def merge_heads(x):
    return torch.cat([h.squeeze(1) for h in x.split(1, dim=1)], dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    e = query.matmul(key.transpose(-2, -1)) / query.size(-1) ** 0.5
    if mask is not None:
        e = e.masked_fill(mask == 0, -1e9)
    return e.softmax(-1).matmul(value)


class Head(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.Q = nn.Linear(d_model, d_k, bias=False)
        self.K = nn.Linear(d_model, d_k, bias=False)
        self.V = nn.Linear(d_model, d_k, bias=False)

    def forward(self, q, k, v, mask=None):
        return scaled_dot_product_attention(self.Q(q), self.K(k), self.V(v), mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.heads = nn.ModuleList([Head(d_model, d_model // n_heads) for _ in range(n_heads)])
        self.O = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask.flatten(0, 1)      # (B, 1, T_q, T_k) -> (B, T_q, T_k)
        return self.O(torch.cat([h(query, key, value, mask) for h in self.heads], dim=-1))
