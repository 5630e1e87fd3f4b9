import torch
import torch.nn as nn


def split_heads(x, n_heads):
    b, t, d = x.size()
    head_dim = d // n_heads
    x = x.reshape(b, t, n_heads, head_dim)
    return torch.einsum("bthd->bhtd", x)


def merge_heads(x):
    b, h, t, d = x.size()
    return torch.einsum("bhtd->bthd", x).reshape(b, t, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    """softmax(QK^T / sqrt(d)) V"""
    d = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d ** 2
    if mask is not None:
        logits = logits.masked_fill(mask.logical_not(), torch.finfo(logits.dtype).min)
    attn = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", attn, value), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim=} not divisible by {num_heads=}")
        self.num_heads = num_heads
        self.query_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.key_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.value_proj = nn.Linear(embed_dim, embed_dim, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.query_proj(query), self.num_heads)
        k = split_heads(self.key_proj(key), self.num_heads)
        v = split_heads(self.value_proj(value), self.num_heads)
        out, attn = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(merge_heads(out)), attn
