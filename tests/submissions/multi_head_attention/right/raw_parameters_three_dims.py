import torch
from torch import nn, einsum


def split_heads(x, n_heads):
    b, t, d = x.shape
    out = x.new_empty(b, n_heads, t, d // n_heads)
    w = d // n_heads
    for h in range(n_heads):
        out[:, h] = x[:, :, h * w:(h + 1) * w]
    return out


def merge_heads(x):
    b, h, t, w = x.shape
    out = x.new_zeros(b, t, h * w)
    for i in range(h):
        out[..., i * w:(i + 1) * w] = x[:, i]
    return out


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask.logical_not(), -1e30)
    weights = scores.softmax(dim=-1)
    return einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model // n_heads * n_heads != d_model:
            raise ValueError(f"d_model={d_model} can't be cut into {n_heads} equal heads")
        d_k = d_model // n_heads
        self.theta = nn.Parameter(torch.empty(n_heads, d_model, d_k))
        self.phi = nn.Parameter(torch.empty(n_heads, d_model, d_k))
        self.g = nn.Parameter(torch.empty(n_heads, d_model, d_k))
        self.o = nn.Parameter(torch.empty(n_heads, d_k, d_model))
        for p in self.parameters():
            nn.init.normal_(p, std=d_model ** -0.5)

    def forward(self, query, key, value, mask=None):
        q = einsum("btc,hcd->bhtd", query, self.theta)
        k = einsum("btc,hcd->bhtd", key, self.phi)
        v = einsum("btc,hcd->bhtd", value, self.g)
        y, a = scaled_dot_product_attention(q, k, v, mask)
        return einsum("bhtd,hdc->btc", y, self.o), a
