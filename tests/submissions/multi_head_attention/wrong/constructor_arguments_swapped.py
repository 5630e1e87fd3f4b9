import torch
import torch.nn as nn


def split_heads(x, n_heads):
    bsz, seq, dim = x.shape
    return torch.einsum("bthd->bhtd", x.reshape(bsz, seq, n_heads, dim // n_heads))


def merge_heads(x):
    bsz, h, seq, d = x.shape
    return torch.einsum("bhtd->bthd", x).reshape(bsz, seq, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores * (1.0 / query.size(-1) ** 0.5)
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=scores.dtype)
        scores = scores + bias.masked_fill(mask == 0, float("-inf"))
    scores = scores - scores.max(dim=-1, keepdim=True).values
    exp = torch.exp(scores)
    attention = exp / exp.sum(dim=-1, keepdim=True)
    return torch.matmul(attention, value), attention


class MultiHeadAttention(nn.Module):
    def __init__(self, h, d_model):
        super().__init__()
        assert d_model % h == 0
        self.h = h
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model, bias=False) for _ in range(4)])

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(lin(t), self.h) for lin, t in zip(self.linears, (query, key, value))]
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.linears[-1](merge_heads(out)), weights
