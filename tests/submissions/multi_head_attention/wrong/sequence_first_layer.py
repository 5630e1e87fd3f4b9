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
        self.Wq = nn.Linear(d_model, d_model)
        self.Wk = nn.Linear(d_model, d_model)
        self.Wv = nn.Linear(d_model, d_model)
        self.Wo = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        # (seq, batch, dim) -> (batch, seq, dim)
        query, key, value = (t.transpose(0, 1) for t in (query, key, value))
        q = split_heads(self.Wq(query), self.n_heads)
        k = split_heads(self.Wk(key), self.n_heads)
        v = split_heads(self.Wv(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.Wo(merge_heads(out)).transpose(0, 1), weights
