import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.contiguous().view(B, n_heads, T, D // n_heads)


def merge_heads(x):
    B, H, T, dk = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * dk)


def scaled_dot_product_attention(query, key, value, mask=None):
    dk = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / dk ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask.bool(), -1e9)
    attention = torch.softmax(scores, dim=-1)
    return torch.matmul(attention, value), attention


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.nh = n_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        Q = split_heads(self.Wq(query), self.nh)
        K = split_heads(self.Wk(key), self.nh)
        V = split_heads(self.Wv(value), self.nh)
        out, attention = scaled_dot_product_attention(Q, K, V, mask)
        return self.Wo(merge_heads(out)), attention
