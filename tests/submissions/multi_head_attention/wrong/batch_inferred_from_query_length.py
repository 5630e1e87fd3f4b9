import torch
from torch import nn


def split_heads(x, n_heads):
    return x.view(*x.shape[:2], n_heads, x.shape[2] // n_heads).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).reshape(x.shape[0], x.shape[2], x.shape[1] * x.shape[3])


def scaled_dot_product_attention(query, key, value, mask=None):
    sim = torch.matmul(query, key.transpose(-2, -1)).div(query.shape[-1] ** 0.5)
    if mask is not None:
        sim = sim.masked_fill(mask.eq(0), -torch.inf)
    prob = sim.softmax(dim=-1)
    return prob.matmul(value), prob


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads does not divide d_model")
        self.h, self.dk = n_heads, d_model // n_heads
        self.lin = nn.ModuleList(nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        b, t = query.shape[:2]
        q = self.lin[0](query).view(b, t, self.h, self.dk).transpose(1, 2)
        k = self.lin[1](key).view(-1, t, self.h, self.dk).transpose(1, 2)
        v = self.lin[2](value).view(-1, t, self.h, self.dk).transpose(1, 2)
        y, prob = scaled_dot_product_attention(q, k, v, mask)
        return self.lin[3](merge_heads(y)), prob


def _selftest():
    t = torch.randn(2, 5, 8)
    assert split_heads(t, 2).shape == (2, 2, 5, 4)
    assert merge_heads(split_heads(t, 2)).shape == t.shape
