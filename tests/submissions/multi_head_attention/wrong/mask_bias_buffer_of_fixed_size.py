import math
import torch
import torch.nn as nn
from torch.nn import functional as F


def split_heads(x, n_heads):
    B, T, C = x.size()
    return x.view(B, T, n_heads, C // n_heads).transpose(1, 2)


def merge_heads(x):
    B, nh, T, hs = x.size()
    return x.transpose(1, 2).contiguous().view(B, T, nh * hs)


def scaled_dot_product_attention(q, k, v, mask=None):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att @ v, att


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, block_size=512):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.key = nn.Linear(d_model, d_model)
        self.query = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model)
        self.proj = nn.Linear(d_model, d_model)
        tril = torch.tril(torch.ones(block_size, block_size, dtype=torch.bool))
        self.register_buffer("tril", tril, persistent=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.query(query), self.n_heads)
        k = split_heads(self.key(key), self.n_heads)
        v = split_heads(self.value(value), self.n_heads)
        allowed = self.tril[:q.size(2), :k.size(2)]
        if mask is not None:
            allowed = allowed & mask.bool()
        y, att = scaled_dot_product_attention(q, k, v, allowed)
        return self.proj(merge_heads(y)), att
