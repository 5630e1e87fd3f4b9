import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    bias = torch.zeros(query.size(-2), key.size(-2), dtype=query.dtype)
    if mask is not None:
        if mask.dtype == torch.bool:
            bias = bias.masked_fill(mask.logical_not(), float("-inf"))
        else:
            bias = bias + mask
    weights = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5 + bias
    weights = torch.softmax(weights, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads != 0:
            raise ValueError("dim must be divisible by heads")
        self.heads = heads
        for name in ("q", "k", "v", "o"):
            self.add_module("w_" + name, nn.Linear(dim, dim, bias=False))

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_q(query), self.heads)
        k = split_heads(self.w_k(key), self.heads)
        v = split_heads(self.w_v(value), self.heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_o(merge_heads(out)), weights
