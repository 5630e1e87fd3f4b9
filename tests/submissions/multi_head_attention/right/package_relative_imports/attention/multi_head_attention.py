from torch import nn

from . import projections as P
from .reshaping import merge_heads, split_heads


def scaled_dot_product_attention(query, key, value, mask=None):
    weights = P.masked(query @ key.mT / query.shape[-1] ** 0.5, mask).softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model has to be a multiple of n_heads")
        self.n_heads = n_heads
        self.project = P.Projections(d_model)
        self.combine = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(t, self.n_heads) for t in self.project(query, key, value))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.combine(merge_heads(out)), weights
