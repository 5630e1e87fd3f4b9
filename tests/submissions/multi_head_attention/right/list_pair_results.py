import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return [weights @ value, weights]

class MultiHeadAttention(nn.Module):
    """Lists in place of tuples; they unpack the same."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.input_projections = nn.ModuleList([nn.Linear(d_model, d_model, bias=False) for _ in range(3)])
        self.output_projection = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        heads = []
        for projection, x in zip(self.input_projections, [query, key, value]):
            heads.append(split_heads(projection(x), self.n_heads))
        result = scaled_dot_product_attention(*heads, mask)
        result[0] = self.output_projection(merge_heads(result[0]))
        return result
