import copy
import math
import torch
import torch.nn as nn


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


def split_heads(x, n_heads):
    nbatches = x.size(0)
    return x.view(nbatches, -1, n_heads, x.size(-1) // n_heads).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).contiguous().view(x.size(0), x.size(2), x.size(1) * x.size(3))


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = scores.softmax(dim=-1)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        assert d_model % h == 0
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model), 4)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            mask = mask.unsqueeze(1)  # same mask for all heads
        query, key, value = [split_heads(lin(x), self.h) for lin, x in zip(self.linears, (query, key, value))]
        x, attn = scaled_dot_product_attention(query, key, value, mask)
        return self.linears[-1](merge_heads(x)), attn
