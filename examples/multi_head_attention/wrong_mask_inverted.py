"""Lesson 115 homework: attention with several heads.

Masks work as attn_mask of nn.MultiheadAttention does: wherever the mask is True, the score is
overwritten by a very negative number before the softmax.
"""

import numpy as np
import torch
from torch import nn

VERY_NEGATIVE = -1e9


def split_heads(x, n_heads):
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x):
    return x.transpose(1, 2).flatten(start_dim=2)


def apply_mask(scores, mask):
    """Overwrite the masked scores; no mask, no change."""
    if mask is None:
        return scores
    return scores.masked_fill(mask.to(torch.bool), VERY_NEGATIVE)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / np.sqrt(query.shape[-1])
    weights = apply_mask(scores, mask).softmax(dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        assert d_model % n_heads == 0
        super().__init__()
        self.n_heads = n_heads
        self.q_linear = nn.Linear(d_model, d_model, bias=False)
        self.k_linear = nn.Linear(d_model, d_model, bias=False)
        self.v_linear = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)
        for linear in (self.q_linear, self.k_linear, self.v_linear, self.out):
            nn.init.xavier_uniform_(linear.weight)

    def forward(self, query, key, value, mask=None):
        attended, weights = scaled_dot_product_attention(
            split_heads(self.q_linear(query), self.n_heads),
            split_heads(self.k_linear(key), self.n_heads),
            split_heads(self.v_linear(value), self.n_heads),
            mask,
        )
        return self.out(merge_heads(attended)), weights
