import torch
import torch.nn as nn


def split_heads(x, n_heads):
    bsz, seq, dim = x.shape
    return torch.einsum("bthd->bhtd", x.reshape(bsz, seq, n_heads, dim // n_heads))


def merge_heads(x):
    bsz, h, seq, d = x.shape
    return torch.einsum("bhtd->bthd", x).reshape(bsz, seq, h * d)


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
        self.cache = None
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.n_heads)
        k = split_heads(self.k(key), self.n_heads)
        v = split_heads(self.v(value), self.n_heads)
        if not self.training:            # kv cache for inference
            if self.cache is not None and self.cache[0].size(0) == k.size(0):
                k = torch.cat([self.cache[0], k], dim=2)
                v = torch.cat([self.cache[1], v], dim=2)
            self.cache = (k.detach(), v.detach())
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
