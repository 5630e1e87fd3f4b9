import torch
from torch import nn
from torch.nn import functional as F


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, x.shape[-1] // n_heads)).movedim(2, 1)


def merge_heads(x):
    return x.movedim(1, 2).flatten(2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.mT
    if mask is not None:
        scores = scores.masked_fill(mask == 1, -1e9)
    weights = F.softmax(scores, -1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("heads")
        self.n_heads = n_heads
        self.w = nn.Linear(d_model, 4 * d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv, wo = self.w.weight.chunk(4)
        q, k, v = (split_heads(F.linear(t, w), self.n_heads)
                   for t, w in ((query, wq), (key, wk), (value, wv)))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return F.linear(merge_heads(out), wo), weights
