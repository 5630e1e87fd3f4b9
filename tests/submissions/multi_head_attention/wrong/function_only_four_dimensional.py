import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    B, H, T, d_k = query.shape
    scores = query @ key.transpose(2, 3) / d_k ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=3)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.W_qkv = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(3)])
        self.W_out = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(w(x), self.n_heads) for w, x in zip(self.W_qkv, [query, key, value])]
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.W_out(merge_heads(out)), weights
