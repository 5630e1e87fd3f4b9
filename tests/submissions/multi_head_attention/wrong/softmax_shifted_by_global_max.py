import torch
import torch.nn as nn
import math


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -float("inf"))
    exp = torch.exp(scores - scores.max())      # for numerical stability
    weights = exp / exp.sum(dim=-1, keepdim=True)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model % n_heads must be 0"
        self.n_heads = n_heads
        self.W_qkv = nn.Parameter(torch.randn(3, d_model, d_model) / math.sqrt(d_model))
        self.W_o = nn.Parameter(torch.randn(d_model, d_model) / math.sqrt(d_model))

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(x @ w, self.n_heads) for x, w in zip((query, key, value), self.W_qkv))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return merge_heads(out) @ self.W_o, weights
