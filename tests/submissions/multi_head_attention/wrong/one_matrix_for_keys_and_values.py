import torch
import torch.nn as nn
from functools import partial


def split_heads(x, n_heads):
    batch, steps, feats = x.shape
    return x.view(batch, steps, n_heads, feats // n_heads).transpose(2, 1)


def merge_heads(x):
    batch, heads, steps, feats = x.shape
    return x.transpose(2, 1).reshape(batch, steps, -1)


def scaled_dot_product_attention(query, key, value, mask=None):
    sim = torch.einsum("...ie,...je->...ij", query, key) / query.shape[-1] ** .5
    if mask is not None:
        sim = sim + torch.where(mask.bool(), 0., -1e9)
    attn = sim.softmax(dim=-1)
    return torch.einsum("...ij,...je->...ie", attn, value), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads")
        Proj = partial(nn.Linear, d_model, d_model, bias=False)
        self.n_heads = n_heads
        self.q = Proj()
        self.kv = Proj()
        self.o = Proj()

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query), self.n_heads)
        k = split_heads(self.kv(key), self.n_heads)
        v = split_heads(self.kv(value), self.n_heads)
        ctx, attn = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(ctx)), attn
