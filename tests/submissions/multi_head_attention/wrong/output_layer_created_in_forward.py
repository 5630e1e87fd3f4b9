import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return x.reshape(x.shape[0], x.shape[1], n_heads, -1).swapaxes(1, 2)


def merge_heads(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def scaled_dot_product_attention(Q, K, V, mask=None):
    """softmax(Q K^T / sqrt(d_k)) V"""
    d_k = Q.size(-1)
    scores = Q.matmul(K.transpose(-2, -1)) / d_k ** 0.5
    if mask is not None:
        # True / 1 = may attend
        scores = torch.where(mask != 0, scores, torch.full_like(scores, -1e9))
    A = torch.softmax(scores, -1)
    return A.matmul(V), A


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.n_heads)
        k = split_heads(self.k(key), self.n_heads)
        v = split_heads(self.v(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        concat = merge_heads(out)
        output_layer = nn.Linear(concat.size(-1), query.size(-1), bias=False)
        return output_layer(concat), weights
