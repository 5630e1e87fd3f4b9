"""Exercise of lesson 115. The softmax is written out to see what it does."""

import torch
from torch.nn import Linear, Module


def split_heads(x, n_heads):
    # the features of one head lie next to each other, so cut the last axis and stack the pieces
    return torch.stack(x.chunk(n_heads, dim=-1), dim=1)


def merge_heads(x):
    return torch.cat(x.unbind(dim=1), dim=-1)


def stable_softmax(scores):
    """exp(s) / sum(exp(s)); subtracting the maximum first keeps exp from overflowing."""
    exponentials = torch.exp(scores - scores.amax(dim=-2, keepdim=True))
    return exponentials / exponentials.sum(dim=-2, keepdim=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = key.shape[-1]
    scores = torch.einsum("...id,...jd->...ij", query, key) / d_k**0.5
    if mask is not None:
        allowed = mask > 0
        scores = scores.masked_fill(torch.logical_not(allowed), -1e9)
    weights = stable_softmax(scores)
    output = torch.einsum("...ij,...jd->...id", weights, value)
    return output, weights


class MultiHeadAttention(Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if n_heads < 1 or d_model % n_heads != 0:
            raise ValueError("d_model / n_heads must be a whole number")
        self.d_model, self.n_heads = d_model, n_heads
        self.Wq, self.Wk, self.Wv, self.Wo = (Linear(d_model, d_model) for _ in range(4))

    def heads(self, x):
        return split_heads(x, self.n_heads)

    def forward(self, query, key, value, mask=None):
        Q = self.heads(self.Wq(query))
        K = self.heads(self.Wk(key))
        V = self.heads(self.Wv(value))
        Z, A = scaled_dot_product_attention(Q, K, V, mask)
        return self.Wo(merge_heads(Z)), A
