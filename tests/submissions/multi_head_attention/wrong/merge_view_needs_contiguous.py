import math
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    batch_size, seq_len, d_model = x.shape
    return x.view(batch_size, seq_len, n_heads, d_model // n_heads).transpose(1, 2)


def merge_heads(x):
    batch_size, n_heads, seq_len, d_k = x.shape
    return x.transpose(1, 2).view(batch_size, seq_len, n_heads * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "d_model must be divisible by n_heads"
        self.n_heads = n_heads
        self.query_layer = nn.Linear(d_model, d_model)
        self.key_layer = nn.Linear(d_model, d_model)
        self.value_layer = nn.Linear(d_model, d_model)
        self.output_layer = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        Q = split_heads(self.query_layer(query), self.n_heads)
        K = split_heads(self.key_layer(key), self.n_heads)
        V = split_heads(self.value_layer(value), self.n_heads)
        out, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.output_layer(merge_heads(out)), weights
