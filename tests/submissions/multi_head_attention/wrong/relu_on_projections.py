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
    d_k = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d_k ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.bool().logical_not(), -1e9)
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert dim % heads == 0
        self.heads = heads
        self.query_net = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.key_net = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.value_net = nn.Sequential(nn.Linear(dim, dim), nn.ReLU())
        self.out_net = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.query_net(query), self.heads)
        k = split_heads(self.key_net(key), self.heads)
        v = split_heads(self.value_net(value), self.heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out_net(merge_heads(out)), weights
