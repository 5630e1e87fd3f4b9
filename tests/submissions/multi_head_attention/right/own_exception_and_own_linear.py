import math
import torch
from torch import nn


class HeadsDoNotDivide(Exception):
    def __init__(self, d_model, n_heads):
        super().__init__(f"{d_model} / {n_heads} leaves a rest of {d_model % n_heads}")


class Affine(nn.Module):
    """my own linear layer"""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.matrix = nn.Parameter(torch.randn(n_out, n_in) / math.sqrt(n_in))
        self.shift = nn.Parameter(torch.randn(n_out) * 0.01)

    def forward(self, x):
        return torch.tensordot(x, self.matrix, dims=([-1], [1])) + self.shift


def split_heads(x, n_heads):
    return x.reshape(x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads).permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(x.shape[0], x.shape[1], -1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(query.shape[-1])
    if mask is not None:
        forbidden = (mask == 0).expand(scores.shape)
        scores[forbidden] = float("-inf")          # scores is mine, so in place is fine
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise HeadsDoNotDivide(d_model, n_heads)
        self.n_heads = n_heads
        self.asks, self.offers, self.tells, self.mixes = [Affine(d_model, d_model) for _ in range(4)]

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.asks(query), self.n_heads)
        k = split_heads(self.offers(key), self.n_heads)
        v = split_heads(self.tells(value), self.n_heads)
        y, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.mixes(merge_heads(y)), weights
