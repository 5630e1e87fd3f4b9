import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    # d_k features for each head
    d_k = x.shape[-1] // n_heads
    heads = [x[:, :, i * d_k:(i + 1) * d_k] for i in range(n_heads)]
    return torch.stack(heads, 1)


def merge_heads(x):
    heads = [x[:, i] for i in range(x.shape[1])]
    return torch.cat(heads, 2)


def scaled_dot_product_attention(query, key, value, mask=None, dropout_p=0.0):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return F.dropout(weights, dropout_p) @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads, self.dropout = n_heads, dropout
        self.query_layer = nn.Linear(d_model, d_model)
        self.key_layer = nn.Linear(d_model, d_model)
        self.value_layer = nn.Linear(d_model, d_model)
        self.output_layer = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.query_layer(query), self.n_heads)
        k = split_heads(self.key_layer(key), self.n_heads)
        v = split_heads(self.value_layer(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask, self.dropout)
        return self.output_layer(merge_heads(out)), weights
