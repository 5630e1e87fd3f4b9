import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, -1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = (query @ key.transpose(-2, -1)) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores * (mask != 0)
    # normalise so that every row sums to one
    weights = scores / scores.sum(dim=-1, keepdim=True)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.num_heads = num_heads
        self.W = nn.ModuleDict({name: nn.Linear(embed_dim, embed_dim, bias=False) for name in "qkvo"})

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.W["q"](query), self.num_heads)
        k = split_heads(self.W["k"](key), self.num_heads)
        v = split_heads(self.W["v"](value), self.num_heads)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.W["o"](merge_heads(out)), w
