import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    attn = scores.softmax(dim=-1)
    context = attn @ value
    return attn, context


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads != 0:
            raise ValueError("heads must divide dim")
        self.heads = heads
        self.query_layer = nn.Linear(dim, dim, bias=False)
        self.key_layer = nn.Linear(dim, dim, bias=False)
        self.value_layer = nn.Linear(dim, dim, bias=False)
        self.output_layer = nn.Linear(dim, dim, bias=False)

    def forward(self, query, key, value, mask=None):
        projected = (self.query_layer(query), self.key_layer(key), self.value_layer(value))
        q, k, v = [split_heads(p, self.heads) for p in projected]
        attn, context = scaled_dot_product_attention(q, k, v, mask)
        return attn, self.output_layer(merge_heads(context))
