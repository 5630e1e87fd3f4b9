import torch
import torch.nn as nn


def split_heads(x, n_heads):
    bs, seq, dim = x.size()
    return x.view(bs, -1, n_heads, dim // n_heads).transpose(1, 2)


def merge_heads(x):
    bs, h, seq, d = x.size()
    return x.transpose(1, 2).contiguous().view(bs, -1, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / (query.size(-1) ** 0.5)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e-9)
    scores = torch.softmax(scores, dim=-1)
    return torch.matmul(scores, value), scores


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, heads):
        super().__init__()
        assert d_model % heads == 0
        self.h = heads
        self.q_linear = nn.Linear(d_model, d_model)
        self.k_linear = nn.Linear(d_model, d_model)
        self.v_linear = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, q, k, v, mask=None):
        k = split_heads(self.k_linear(k), self.h)
        q = split_heads(self.q_linear(q), self.h)
        v = split_heads(self.v_linear(v), self.h)
        out, scores = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), scores
