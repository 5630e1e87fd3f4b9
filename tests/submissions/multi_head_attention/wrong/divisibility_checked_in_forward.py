import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    if D % n_heads != 0:
        raise ValueError(f"cannot split {D} features into {n_heads} heads")
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d_k ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.bool().logical_not(), -1e9)
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        D = query.size(-1)
        q = split_heads(self.qkv(query)[..., :D], self.heads)
        k = split_heads(self.qkv(key)[..., D:2 * D], self.heads)
        v = split_heads(self.qkv(value)[..., 2 * D:], self.heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), weights
