import torch
import torch.nn as nn


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    batch, length, width = x.size()
    heads = x.reshape(batch, length, n_heads, width // n_heads)
    return heads.permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D)"""
    batch, n_heads, length, size = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, n_heads * size)


def scaled_dot_product_attention(Q, K, V, mask=None):
    """softmax(Q K^T / sqrt(d_k)) V"""
    d_k = Q.size(-1)
    scores = Q.matmul(K.transpose(-2, -1)) / d_k ** 0.5
    if mask is not None:
        # True / 1 = may attend
        scores = torch.where(mask != 0, scores, torch.full_like(scores, -1e9))
    A = torch.softmax(scores, -1)
    return A.matmul(V), A


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        d_k = d_model // n_heads
        self.q = nn.Linear(d_model, d_k, bias=False)
        self.k = nn.Linear(d_model, d_k, bias=False)
        self.v = nn.Linear(d_model, d_k, bias=False)
        self.out = nn.Linear(d_k * n_heads, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        expand = lambda t: t.unsqueeze(1).expand(-1, self.n_heads, -1, -1)
        q, k, v = expand(self.q(query)), expand(self.k(key)), expand(self.v(value))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), weights
