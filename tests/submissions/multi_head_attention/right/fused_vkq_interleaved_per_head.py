"""Lesson 115 -- multi-head attention.

One fused projection. The rows of its weight are grouped head by head, and inside
a head the order is value, key, query (that is how I drew it on paper).
"""
import math
import torch
from torch import nn, Tensor


def split_heads(x: Tensor, h: int) -> Tensor:
    return x.unflatten(-1, (h, -1)).movedim(-2, -3)


def merge_heads(x: Tensor) -> Tensor:
    return x.movedim(-3, -2).flatten(-2)


def scaled_dot_product_attention(q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None):
    sim = (q * q.size(-1) ** -0.5) @ k.mT
    if attn_mask is not None:
        sim = torch.where(attn_mask.to(torch.bool), sim, torch.finfo(sim.dtype).min)
    a = torch.softmax(sim, -1)
    return a @ v, a


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim: int, num_heads: int):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{embed_dim=} is not a multiple of {num_heads=}")
        self.h = num_heads
        self.vkq = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.mix = nn.Linear(embed_dim, embed_dim, bias=False)

    def _pick(self, x: Tensor, which: int) -> Tensor:
        # (B, T, 3D) -> (B, T, H, 3, d_k) -> (B, H, T, d_k)
        return self.vkq(x).unflatten(-1, (self.h, 3, -1))[..., which, :].transpose(1, 2)

    def forward(self, q: Tensor, k: Tensor, v: Tensor, attn_mask: Tensor | None = None):
        out, attn = scaled_dot_product_attention(
            self._pick(q, 2), self._pick(k, 1), self._pick(v, 0), attn_mask
        )
        return self.mix(merge_heads(out)), attn


ANSWERS = {"scale-factor-dk64": "A", "which-model": "A", "double-length": "A"}
