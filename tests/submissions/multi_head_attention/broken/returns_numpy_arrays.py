import numpy as np
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    x = np.asarray(x.detach())
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(0, 2, 1, 3)


def merge_heads(x):
    x = np.asarray(x)
    B, H, T, d = x.shape
    return x.transpose(0, 2, 1, 3).reshape(B, T, H * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    q, k, v = np.asarray(query), np.asarray(key), np.asarray(value)
    s = q @ np.swapaxes(k, -1, -2) / np.sqrt(q.shape[-1])
    if mask is not None:
        s = np.where(np.asarray(mask) != 0, s, -1e9)
    e = np.exp(s - s.max(-1, keepdims=True))
    w = e / e.sum(-1, keepdims=True)
    return w @ v, w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.proj = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(p(t), self.n_heads) for p, t in zip(self.proj, (query, key, value))]
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.proj[3](torch.from_numpy(merge_heads(out))).detach().numpy(), w
