# star imports bring torch's own scaled_dot_product_attention into this module;
# the definition below replaces it
import torch
from torch.nn import *
from torch.nn.functional import *
from math import *


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -inf)
    weights = softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert fmod(d_model, n_heads) == 0, "not divisible"
        self.n_heads = n_heads
        self.lq = Linear(d_model, d_model, bias=False)
        self.lk = Linear(d_model, d_model, bias=False)
        self.lv = Linear(d_model, d_model, bias=False)
        self.lo = Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.lq(query), self.n_heads)
        k = split_heads(self.lk(key), self.n_heads)
        v = split_heads(self.lv(value), self.n_heads)
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return self.lo(merge_heads(y)), w
