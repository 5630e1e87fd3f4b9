import torch
import torch.nn as nn


def split_heads(x, n_heads):
    b, t, d = x.shape
    out = x.new_empty(b, n_heads, t, d // n_heads)
    step = d // n_heads
    for j in range(n_heads):
        out[:, j] = x[..., j * step:(j + 1) * step]
    return out


def merge_heads(x):
    return torch.cat([x[:, j] for j in range(x.shape[1])], dim=2)


def scaled_dot_product_attention(query, key, value, mask=None):
    raw = torch.matmul(query, key.transpose(-2, -1))
    raw = raw * key.shape[-1] ** -0.5
    if mask is not None:
        raw = raw * mask
        hidden = raw == 0
        raw = raw.masked_fill(hidden, -1e10)
    weights = torch.softmax(raw, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model // n_heads * n_heads != d_model:
            raise ValueError("n_heads")
        self.n_heads = n_heads
        for which in "qkvo":
            setattr(self, "w_" + which, nn.Parameter(torch.randn(d_model, d_model) / d_model ** 0.5))

    def forward(self, query, key, value, mask=None):
        q = split_heads(query @ self.w_q, self.n_heads)
        k = split_heads(key @ self.w_k, self.n_heads)
        v = split_heads(value @ self.w_v, self.n_heads)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return merge_heads(out) @ self.w_o, w


def _selftest():
    t = torch.randn(2, 5, 8)
    assert split_heads(t, 2).shape == (2, 2, 5, 4)
    assert merge_heads(split_heads(t, 2)).shape == t.shape
