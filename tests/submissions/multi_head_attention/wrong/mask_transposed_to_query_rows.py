import torch
import torch.nn as nn


def split_heads(x, n_heads):
    # d_k features for each head
    d_k = x.shape[-1] // n_heads
    heads = [x[:, :, i * d_k:(i + 1) * d_k] for i in range(n_heads)]
    return torch.stack(heads, 1)


def merge_heads(x):
    heads = [x[:, i] for i in range(x.shape[1])]
    return torch.cat(heads, 2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        mask = mask.transpose(-2, -1)   # (.., T_k, 1) so that it broadcasts
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.o_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q_proj(query), self.n_heads)
        k = split_heads(self.k_proj(key), self.n_heads)
        v = split_heads(self.v_proj(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o_proj(merge_heads(out)), weights
