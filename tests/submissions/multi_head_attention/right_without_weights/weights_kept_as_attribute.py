import torch
from torch import nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(-2)


class Attention(nn.Module):
    def forward(self, query, key, value, mask=None):
        scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if mask is not None:
            scores = scores.masked_fill(mask == 0, float("-inf"))
        self.weights = scores.softmax(-1)
        return self.weights @ value


scaled_dot_product_attention = Attention()


class MultiHeadAttention(nn.Module):
    """`layer.attention.weights` are the weights of the last call."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{d_model} % {n_heads}")
        self.n_heads = n_heads
        self.attention = Attention()
        self.layers = nn.ModuleList([nn.Conv1d(d_model, d_model, kernel_size=1, bias=False) for _ in range(4)])

    def _project(self, i, x):
        return self.layers[i](x.mT).mT

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(self._project(i, x), self.n_heads) for i, x in enumerate((query, key, value)))
        return self._project(3, merge_heads(self.attention(q, k, v, mask)))
