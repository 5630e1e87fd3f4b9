import torch
import torch.nn as nn


def split_heads(x, n_heads):
    batch, length, dim = x.shape
    return x.view(batch, length, n_heads, dim // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    batch, heads, length, dim = x.shape
    return x.permute(0, 2, 1, 3).reshape(batch, length, heads * dim)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) * query.size(-1) ** -0.5
    if mask is not None:
        scores = scores.masked_fill(~mask.bool(), float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("embed_dim must be a multiple of num_heads")
        self.num_heads = num_heads
        self.scaling = (embed_dim // num_heads) ** -0.5
        self.q_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.k_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.v_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_proj(query) * self.scaling, self.num_heads)
        k = split_heads(self.k_proj(key), self.num_heads)
        v = split_heads(self.v_proj(value), self.num_heads)
        ctx, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(merge_heads(ctx)), weights
