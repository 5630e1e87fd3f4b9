import torch
from torch import nn
from .utils import allowed, divide


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, divide(D, n_heads)).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.einsum("...td,...sd->...ts", query, key) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(~allowed(mask), float("-inf"))
    weights = scores.softmax(-1)
    return torch.einsum("...ts,...sd->...td", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads, self.d_k = n_heads, divide(d_model, n_heads)
        # rows of the fused layer: query and value first, key last
        self.q_v_k = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=True)

    def forward(self, query, key, value, mask=None):
        w = self.q_v_k.weight.unflatten(0, (3, self.n_heads, self.d_k))
        q = torch.einsum("btc,hdc->bhtd", query, w[0])
        v = torch.einsum("btc,hdc->bhtd", value, w[1])
        k = torch.einsum("btc,hdc->bhtd", key, w[2])
        y, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(y)), weights
