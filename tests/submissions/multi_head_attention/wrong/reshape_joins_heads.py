import torch
from torch import nn
from torch.nn import functional as F


def split_heads(x, n_heads):
    b, t, d = x.shape
    assert d % n_heads == 0
    return torch.einsum("bthk->bhtk", x.reshape(b, t, n_heads, d // n_heads))


def merge_heads(x):
    b, h, t, k = x.shape
    return x.reshape(b, t, h * k)


def scaled_dot_product_attention(query, key, value, mask=None):
    inv = query.shape[-1] ** (-1 / 2)
    s = torch.einsum("...qd,...kd->...qk", query * inv, key)
    if mask is not None:
        s = s.masked_fill(torch.logical_not(mask), -1e4 * 1e3)
    w = F.softmax(s, -1)
    return torch.einsum("...qk,...kd->...qd", w, value), w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads > 0:
            raise ValueError("bad number of heads")
        self.heads = n_heads
        self.query_layer = nn.Linear(d_model, d_model)
        self.key_layer = nn.Linear(d_model, d_model)
        self.value_layer = nn.Linear(d_model, d_model)
        self.final = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        context, w = scaled_dot_product_attention(
            split_heads(self.query_layer(query), self.heads),
            split_heads(self.key_layer(key), self.heads),
            split_heads(self.value_layer(value), self.heads),
            mask,
        )
        return self.final(merge_heads(context)), w
