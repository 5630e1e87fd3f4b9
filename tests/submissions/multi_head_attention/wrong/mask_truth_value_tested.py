import torch
import torch.nn as nn


def split_heads(x, n_heads):
    bsz, seq, dim = x.shape
    return torch.einsum("bthd->bhtd", x.reshape(bsz, seq, n_heads, dim // n_heads))


def merge_heads(x):
    bsz, h, seq, d = x.shape
    return torch.einsum("bhtd->bthd", x).reshape(bsz, seq, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads != 0:
            raise ValueError("embed_dim must be divisible by num_heads")
        self.num_heads = num_heads
        self.w_query = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_key = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_value = nn.Linear(embed_dim, embed_dim, bias=False)
        self.w_out = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.w_query(query), self.num_heads)
        k = split_heads(self.w_key(key), self.num_heads)
        v = split_heads(self.w_value(value), self.num_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.w_out(merge_heads(out)), weights
