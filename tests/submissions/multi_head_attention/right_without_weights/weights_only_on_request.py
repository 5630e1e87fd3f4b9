import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).permute(0, 2, 1, 3)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.permute(0, 2, 1, 3).reshape(B, T, H * d)


def scaled_dot_product_attention(query, key, value, mask=None, return_weights=False):
    scores = torch.matmul(query, key.transpose(-1, -2)) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores + (mask == 0) * -1e9
    weights = torch.softmax(scores, dim=-1)
    out = torch.matmul(weights, value)
    return (out, weights) if return_weights else out


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=True):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads != 0")
        self.n_heads = n_heads
        self.query, self.key, self.value, self.out = (nn.Linear(d_model, d_model, bias=bias) for _ in range(4))

    def forward(self, query, key, value, mask=None, return_weights=False):
        q = split_heads(self.query(query), self.n_heads)
        k = split_heads(self.key(key), self.n_heads)
        v = split_heads(self.value(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask, return_weights=True)
        out = self.out(merge_heads(out))
        return (out, weights) if return_weights else out
