# All input projections live in ONE tensor of shape (3, H, D, d_k).
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    return x.reshape(*x.shape[:-1], n_heads, x.shape[-1] // n_heads).movedim(2, 1)


def merge_heads(x):
    y = x.movedim(1, 2)
    return y.reshape(*y.shape[:2], y.shape[2] * y.shape[3])


def scaled_dot_product_attention(query, key, value, mask=None):
    root = query.new_tensor(query.shape[-1]).sqrt()
    scores = (query / root) @ key.transpose(-1, -2)
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=scores.dtype).masked_fill(mask == 0, float('-inf'))
        scores = scores + bias
    weights = torch.nn.functional.softmax(scores, -1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        nn.Module.__init__(self)
        if d_model % n_heads > 0:
            raise ValueError('heads!')
        d_k = d_model // n_heads
        std = (1 / d_model) ** 0.5
        self.W = nn.Parameter(torch.randn(3, n_heads, d_model, d_k) * std)
        self.b = nn.Parameter(torch.zeros(3, n_heads, 1, d_k))
        self.O = nn.Parameter(torch.randn(n_heads, d_k, d_model) * std)

    def forward(self, query, key, value, mask=None):
        q, k, v = [x.unsqueeze(1) @ self.W[i] + self.b[i] for i, x in enumerate([query, key, value])]
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return (heads @ self.O).sum(dim=1), weights
