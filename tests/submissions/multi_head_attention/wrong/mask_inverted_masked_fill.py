import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask.bool(), -1e9)
    attn = F.softmax(scores, dim=-1)
    return torch.matmul(attn, value), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.h = n_heads
        self.linears = nn.ModuleList([nn.Linear(d_model, d_model, bias=False) for _ in range(4)])

    def forward(self, query, key, value, mask=None):
        query, key, value = [split_heads(l(x), self.h)
                             for l, x in zip(self.linears, (query, key, value))]
        x, attn = scaled_dot_product_attention(query, key, value, mask)
        return self.linears[-1](merge_heads(x)), attn
