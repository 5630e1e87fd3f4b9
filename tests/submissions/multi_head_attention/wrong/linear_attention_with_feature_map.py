import torch
import torch.nn as nn
import torch.nn.functional as F


def phi(x):
    return F.elu(x) + 1


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = query.size(-1) ** -0.25
    q, k = phi(query * scale), phi(key * scale)
    weights = q @ k.transpose(-2, -1)
    if mask is not None:
        weights = weights.masked_fill(mask == 0, 0.0)
        weights = weights / weights.sum(-1, keepdim=True)
        return weights @ value, weights
    weights = weights / weights.sum(-1, keepdim=True)
    context = k.transpose(-2, -1) @ value               # O(n d^2)
    norm = q @ k.sum(-2, keepdim=True).transpose(-2, -1)
    return q @ context / norm, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = self.qkv.weight.split(query.size(-1))
        q = split_heads(F.linear(query, wq), self.n_heads)
        k = split_heads(F.linear(key, wk), self.n_heads)
        v = split_heads(F.linear(value, wv), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), weights
