import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.einsum("...ik,...jk->...ij", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask.to(bool).bitwise_not(), -5e8)
    weights = scores.softmax(-1)
    return weights.matmul(value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("not divisible")
        # (query/key/value, D, H, d_k); head outputs return through (H, d_k, D)
        self.qkv = nn.Parameter(torch.randn(3, d_model, n_heads, d_model // n_heads) / d_model ** 0.5)
        self.o = nn.Parameter(torch.randn(n_heads, d_model // n_heads, d_model) / d_model ** 0.5)

    def forward(self, query, key, value, mask=None):
        q, k, v = (torch.tensordot(x, w, dims=([2], [0])).transpose(1, 2) for x, w in zip((query, key, value), self.qkv))
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return torch.tensordot(y, self.o, dims=([1, 3], [0, 1])), w
