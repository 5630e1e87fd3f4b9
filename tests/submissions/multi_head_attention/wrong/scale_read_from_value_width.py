import torch
import torch.nn as nn
from math import sqrt


def split_heads(x, n_heads):
    b, n, d = x.shape
    x = x.reshape(b * n, n_heads, d // n_heads)
    return x.reshape(b, n, n_heads, -1).swapaxes(1, 2)


def merge_heads(x):
    return x.swapaxes(1, 2).flatten(2)


def masked_softmax(z, keep=None):
    if keep is not None:
        keep = keep.bool()
        z = z.masked_fill(~keep, -1e9)
    z = z - z.max(dim=-1, keepdim=True).values
    e = z.exp()
    return e / e.sum(dim=-1, keepdim=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    size = value.size(-1)
    w = masked_softmax(torch.einsum("...nd,...md->...nm", query, key) / sqrt(size), mask)
    return torch.einsum("...nm,...md->...nd", w, value), w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("no")
        self.n_heads = n_heads
        self.layers = nn.ModuleDict(dict(
            query=nn.Linear(d_model, d_model, bias=False),
            key=nn.Linear(d_model, d_model, bias=False),
            value=nn.Linear(d_model, d_model, bias=False),
            output=nn.Linear(d_model, d_model, bias=False)))

    def forward(self, query, key, value, mask=None):
        inputs = dict(query=query, key=key, value=value)
        args = {n: split_heads(self.layers[n](t), self.n_heads) for n, t in inputs.items()}
        y, w = scaled_dot_product_attention(**args, mask=mask)
        return self.layers["output"](merge_heads(y)), w
