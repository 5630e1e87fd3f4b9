import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.proj = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(p(t), self.n_heads) for p, t in zip(self.proj, (query, key, value))]
        outs, ws, i = [], [], 0
        while i < self.n_heads:
            o, w = scaled_dot_product_attention(q[:, :1], k[:, :1], v[:, :1], mask)
            outs = [o]
            ws = [w]
        return self.proj[3](merge_heads(torch.cat(outs, 1))), torch.cat(ws, 1)
