import math

import torch
from torch import nn


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k) going through channels first"""
    b, t, d = x.shape
    return x.permute(0, 2, 1).reshape(b, n_heads, d // n_heads, t).transpose(2, 3)


def merge_heads(x):
    b, h, t, dk = x.shape
    return x.transpose(2, 3).reshape(b, h * dk, t).permute(0, 2, 1)


def scaled_dot_product_attention(q, k, v, mask=None):
    scores = torch.matmul(q, k.transpose(-2, -1))
    scores = scores / math.sqrt(q.shape[-1])
    if mask is not None:
        bias = torch.zeros(mask.shape, dtype=scores.dtype, device=scores.device)
        bias[mask == 0] = -1e4 * 10
        scores = scores + bias
    attn = nn.functional.softmax(scores, dim=-1)
    return torch.matmul(attn, v), attn


class MultiHeadAttention(nn.Module):
    """Width-1 convolutions are position-wise linear maps."""

    def __init__(self, dim, heads=8, *, bias=True):
        super().__init__()
        if heads <= 0 or dim % heads != 0:
            raise ValueError("dim % heads must be 0")
        self.heads = heads
        conv = lambda: nn.Conv1d(dim, dim, kernel_size=1, bias=bias)
        self.theta, self.phi, self.g, self.out = conv(), conv(), conv(), conv()

    def forward(self, q, k, v, mask=None):
        def go(conv, x):
            return split_heads(conv(x.mT).mT, self.heads)

        y, attn = scaled_dot_product_attention(go(self.theta, q), go(self.phi, k), go(self.g, v), mask)
        return self.out(merge_heads(y).mT).mT, attn
