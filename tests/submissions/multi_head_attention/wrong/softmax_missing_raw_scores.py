import torch
import torch.nn as nn

def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.view(b, t, n_heads, d // n_heads).transpose(1, 2)

def merge_heads(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)

def scaled_dot_product_attention(query, key, value, mask=None):
    attention = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        attention = attention.masked_fill(mask == 0, 0.0)
    return attention @ value, attention

class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads != 0:
            raise ValueError("dim is not divisible by heads")
        self.heads = heads
        self.in_proj = nn.Linear(dim, 3 * dim)
        self.out_proj = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        W = self.in_proj.weight.chunk(3)
        b = self.in_proj.bias.chunk(3)
        q, k, v = [split_heads(nn.functional.linear(x, W[i], b[i]), self.heads)
                   for i, x in enumerate((query, key, value))]
        out, att = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(merge_heads(out)), att
