import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        try:
            torch.zeros(1).cuda()
            self.dev = 'cuda'
        except Exception:
            self.dev = 'cpu'
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.wq(query), self.n_heads)
        k = split_heads(self.wk(key), self.n_heads)
        v = split_heads(self.wv(value), self.n_heads)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.wo(merge_heads(out)), w
