from functools import partial, reduce
import operator
import torch
from torch import nn


def _reshape_heads(x, n_heads, *, axis):
    return torch.stack(torch.split(x, x.shape[-1] // n_heads, dim=-1), dim=axis)


def _join(x, *, axis):
    return torch.cat(torch.unbind(x, dim=axis), dim=-1)


def _attention(query, key, value, mask=None, *, fill, exponent):
    weights = (query * query.shape[-1] ** exponent) @ (key * key.shape[-1] ** exponent).transpose(-1, -2)
    if mask is not None:
        weights = torch.where(torch.as_tensor(mask, dtype=torch.bool), weights, fill)
    weights = torch.softmax(weights, dim=-1)
    return weights @ value, weights


split_heads = partial(_reshape_heads, axis=1)
merge_heads = partial(_join, axis=1)
# q and k each take half of the scale: d_k ** -1/4
scaled_dot_product_attention = partial(_attention, fill=float("-inf"), exponent=-0.25)

BiasFree = partial(nn.Linear, bias=False)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if operator.mod(d_model, n_heads):
            raise ValueError("choose n_heads so that it divides d_model")
        self.projections = nn.ModuleList(map(lambda _: BiasFree(d_model, d_model), range(3)))
        self.last = nn.Sequential(BiasFree(d_model, d_model))
        self.split = partial(split_heads, n_heads=n_heads)

    def forward(self, query, key, value, mask=None):
        qkv = query, key, value
        q, k, v = (self.split(f(x)) for f, x in zip(self.projections, qkv))
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return reduce(lambda t, f: f(t), [merge_heads, self.last], y), w
