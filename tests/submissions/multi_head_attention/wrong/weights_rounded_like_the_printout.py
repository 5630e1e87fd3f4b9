import torch
import torch.nn as nn


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    batch, length, width = x.size()
    heads = x.reshape(batch, length, n_heads, width // n_heads)
    return heads.permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D)"""
    batch, n_heads, length, size = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, n_heads * size)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.round(scores.softmax(dim=-1), decimals=4)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        projected = (self.Wq(query), self.Wk(key), self.Wv(value))
        q, k, v = [split_heads(p, self.n_heads) for p in projected]
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.Wo(merge_heads(out)), weights
