import copy
import math
import torch
import torch.nn as nn


def make_copies(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


def split_heads(x, n_heads):
    return x.reshape(x.size(0), -1, n_heads, x.size(-1) // n_heads).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).contiguous().view(x.size(0), -1, x.size(1) * x.size(3))


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p = scores.softmax(dim=-1)
    if dropout is not None:
        p = dropout(p)
    return torch.matmul(p, value), p


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, p_drop=0.1):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.four = make_copies(nn.Linear(d_model, d_model), 4)   # all four start equal
        for lin in self.four:
            lin.reset_parameters()                                # ... so draw them anew
        self.dropout = nn.Dropout(p_drop)
        self.last_weights = None                                  # for plots

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(lin(x), self.h) for lin, x in zip(self.four, (query, key, value))]
        x, self.last_weights = scaled_dot_product_attention(q, k, v, mask, self.dropout)
        return self.four[-1](merge_heads(x)), self.last_weights
