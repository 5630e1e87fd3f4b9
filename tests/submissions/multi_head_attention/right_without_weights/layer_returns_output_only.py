"""The function returns (output, weights), the layer only its output; fused projections with biases."""
import math
import torch
from torch import nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = torch.where(mask.bool(), scores, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads=8, dropout=0.1):
        super().__init__()
        assert dim % heads == 0
        self.heads = heads
        self.to_qkv = nn.Linear(dim, dim * 3)
        self.to_out = nn.Sequential(nn.Linear(dim, dim), nn.Dropout(dropout))

    def forward(self, q, k, v, mask=None):
        weights, biases = self.to_qkv.weight.chunk(3), self.to_qkv.bias.chunk(3)
        q, k, v = (split_heads(F.linear(x, w, b), self.heads) for x, w, b in zip((q, k, v), weights, biases))
        out, _ = scaled_dot_product_attention(q, k, v, mask)
        return self.to_out(merge_heads(out))
