import math
import torch
from torch import nn
from torch.func import vmap


def split_heads(x, n_heads):
    d_k = x.shape[-1] // n_heads
    return vmap(lambda one: torch.stack(one.split(d_k, dim=-1)))(x)


def merge_heads(x):
    return vmap(lambda one: torch.hstack(list(one)))(x)


def _one_query(q, keys, values, allowed):
    s = keys @ q / math.sqrt(q.shape[0])
    s = torch.where(allowed, s, float("-inf"))
    w = torch.softmax(s, dim=0)
    return w @ values, w


def _matrices(q, k, v, allowed):
    return vmap(_one_query, in_dims=(0, None, None, 0))(q, k, v, allowed)


def scaled_dot_product_attention(query, key, value, mask=None):
    shape = (*query.shape[:-1], key.shape[-2])
    if mask is None:
        mask = torch.ones((), dtype=torch.bool, device=query.device)
    allowed = (mask != 0).expand(shape)
    f = _matrices
    for _ in range(query.dim() - 2):
        f = vmap(f)
    return f(query, key, value, allowed)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model is not divisible by n_heads")
        d_k = d_model // n_heads
        self.w_in = nn.Parameter(torch.randn(n_heads, 3, d_model, d_k) / math.sqrt(d_model))
        self.w_out = nn.Parameter(torch.randn(n_heads, d_k, d_model) / math.sqrt(d_model))

    def forward(self, query, key, value, mask=None):
        def head(w):
            return query @ w[0], key @ w[1], value @ w[2]
        q, k, v = vmap(head, out_dims=1)(self.w_in)
        y, weights = scaled_dot_product_attention(q, k, v, mask)
        return torch.einsum("bhtd,hdm->btm", y, self.w_out), weights
