import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores * (1.0 / query.size(-1) ** 0.5)
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=scores.dtype)
        scores = scores + bias.masked_fill(mask == 0, float("-inf"))
    scores = scores - scores.max(dim=-1, keepdim=True).values
    exp = torch.exp(scores)
    attention = exp / exp.sum(dim=-1, keepdim=True)
    return torch.matmul(attention, value), attention


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.query_layer = nn.Linear(d_model, d_model)
        self.key_layer = nn.Linear(d_model, d_model)
        self.value_layer = nn.Linear(d_model, d_model)
        self.output_layer = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.query_layer(query), self.key_layer(key), self.value_layer(value)
        q = split_heads(q, self.n_heads)
        k = split_heads(k, self.n_heads)
        v = split_heads(v, self.n_heads)
        if mask is not None and mask.dim() == 4:
            mask = mask.transpose(0, 1)      # heads dimension first
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.output_layer(merge_heads(out)), weights
