from dataclasses import dataclass

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
    return weights @ value, weights


@dataclass
class AttentionOutput:
    output: torch.Tensor
    weights: torch.Tensor


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.fused = nn.Linear(d_model, 4 * d_model, bias=False)      # rows: q, k, v, out

    def forward(self, query, key, value, mask=None):
        w = self.fused.weight.chunk(4)
        q, k, v = (split_heads(x @ w_i.T, self.n_heads) for x, w_i in zip((query, key, value), w))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return AttentionOutput(merge_heads(out) @ w[3].T, weights)
