import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    Tq, Tk = query.size(-2), key.size(-2)
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if Tq == Tk:
        future = torch.triu(torch.ones(Tq, Tk, dtype=torch.bool), diagonal=1)
        scores = scores.masked_fill(future, -1e9)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.q = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.num_heads)
        k = split_heads(self.k(key), self.num_heads)
        v = split_heads(self.v(value), self.num_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), weights
