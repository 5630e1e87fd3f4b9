import torch
from torch import nn

from mha.ops.softmax import softmax


def split_heads(x, n_heads):
    return torch.stack(x.split(x.shape[-1] // n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(tuple(x.transpose(0, 1)), dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query / query.shape[-1] ** 0.5, key.transpose(-2, -1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = softmax(scores)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"{n_heads} does not divide {d_model}")
        self.n_heads = n_heads
        self.proj = nn.ModuleDict({n: nn.Linear(d_model, d_model) for n in ("query", "key_", "value", "out")})

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(self.proj[n](x), self.n_heads)
                   for n, x in (("query", query), ("key_", key), ("value", value)))
        context, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.proj["out"](merge_heads(context)), weights
