import numpy as np
import torch
import torch.nn as nn


def softmax_rows(z):
    z = z - z.max(dim=-1, keepdim=True).values        # for stability
    e = torch.exp(z)
    return e / e.sum(dim=-1, keepdim=True)


def split_heads(x, n_heads):
    B, T, D = x.shape
    return torch.swapaxes(torch.reshape(x, (B, T, n_heads, D // n_heads)), 1, 2)


def merge_heads(x):
    B, H, T, dk = x.shape
    return torch.reshape(torch.swapaxes(x, 1, 2), (B, T, H * dk))


def scaled_dot_product_attention(query, key, value, mask=None):
    scale = 1.0 / float(np.sqrt(query.shape[-1]))
    scores = (query @ torch.swapaxes(key, -1, -2)) * scale
    if mask is not None:
        scores = torch.where(mask.bool(), scores, torch.full_like(scores, -np.inf))
    weights = softmax_rows(scores)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """y = x @ W, so W is (in, out) and not (out, in) as in nn.Linear."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError
        self.n_heads = n_heads
        bound = 1 / np.sqrt(d_model)
        self.Wq = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.Wk = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.Wv = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))
        self.Wo = nn.Parameter(torch.empty(d_model, d_model).uniform_(-bound, bound))

    def forward(self, query, key, value, mask=None):
        Q = split_heads(query @ self.Wq, self.n_heads)
        K = split_heads(key @ self.Wk, self.n_heads)
        V = split_heads(value @ self.Wv, self.n_heads)
        Z, A = scaled_dot_product_attention(Q, K, V, mask)
        return merge_heads(Z) @ self.Wo, A
