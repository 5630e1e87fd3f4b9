import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(torch.chunk(x, n_heads, dim=-1))


def merge_heads(x):
    return torch.cat(tuple(x), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d_k ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.bool().logical_not(), -1e9)
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.query(query), self.n_heads)
        k = split_heads(self.key(key), self.n_heads)
        v = split_heads(self.value(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), weights
