import math
import torch
from torch import nn

__all__ = ["split_heads", "merge_heads", "scaled_dot_product_attention", "MultiHeadAttention"]


class MultiHeadAttention(nn.Module):
    """Everything lives in the class; the functions asked for are its static methods."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self._check(d_model, n_heads)
        self._h = n_heads
        self.W = nn.ParameterDict()
        for key in ("q", "k", "v", "out"):
            self.W[key] = nn.Parameter(torch.empty(d_model, d_model))
            nn.init.kaiming_uniform_(self.W[key], a=math.sqrt(5))

    @staticmethod
    def _check(d_model, n_heads):
        if d_model % n_heads:
            raise ValueError("d_model must be a multiple of n_heads")

    @staticmethod
    def split(x, n_heads):
        return x.unflatten(2, (n_heads, x.shape[2] // n_heads)).transpose(1, 2)

    @staticmethod
    def merge(x):
        return x.transpose(1, 2).flatten(2, 3)

    @classmethod
    def attention(cls, query, key, value, mask=None):
        scores = cls._scores(query, key)
        if mask is not None:
            scores = scores.masked_fill(mask.to(torch.bool).logical_not(), float("-inf"))
        weights = torch.nn.functional.log_softmax(scores, dim=-1).exp()
        return torch.matmul(weights, value), weights

    @staticmethod
    def _scores(q, k):
        return torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(q.shape[-1])

    def forward(self, query, key, value, mask=None):
        q, k, v = [self.split(x.matmul(self.W[n].t()), self._h) for n, x in zip("qkv", (query, key, value))]
        y, w = self.attention(q, k, v, mask)
        return self.merge(y).matmul(self.W["out"].t()), w


split_heads = MultiHeadAttention.split
merge_heads = MultiHeadAttention.merge
scaled_dot_product_attention = MultiHeadAttention.attention
