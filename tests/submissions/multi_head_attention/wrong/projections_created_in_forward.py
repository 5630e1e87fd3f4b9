import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


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
        self.d_model = d_model
        self.n_heads = n_heads

    def forward(self, query, key, value, mask=None):
        d = self.d_model
        q = nn.Linear(d, d, bias=False)(query)
        k = nn.Linear(d, d, bias=False)(key)
        v = nn.Linear(d, d, bias=False)(value)
        q, k, v = (split_heads(t, self.n_heads) for t in (q, k, v))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return nn.Linear(d, d, bias=False)(merge_heads(out)), weights
