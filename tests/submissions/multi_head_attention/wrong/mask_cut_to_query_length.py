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
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.attn = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        T, C = query.shape[1:]
        q = split_heads(self.attn(query)[:, :, :C], self.n_heads)
        k = split_heads(self.attn(key)[:, :, C:2 * C], self.n_heads)
        v = split_heads(self.attn(value)[:, :, 2 * C:], self.n_heads)
        if mask is not None:
            mask = mask[..., :T, :T]
        y, att = scaled_dot_product_attention(q, k, v, mask)
        return self.proj(merge_heads(y)), att
