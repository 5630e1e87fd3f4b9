import torch
import torch.nn as nn


def split_heads(x, n_heads):
    batch, time, dim = x.shape
    return x.reshape(batch, time, n_heads, dim // n_heads).transpose(1, 2)


def merge_heads(x):
    batch, heads, time, dim = x.shape
    return x.transpose(1, 2).reshape(batch, time, heads * dim)


@torch.compile(backend="eager", dynamic=True)
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = torch.where(mask.bool(), scores, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("bad number of heads")
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(f(x), self.n_heads)
                   for f, x in ((self.q, query), (self.k, key), (self.v, value)))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
