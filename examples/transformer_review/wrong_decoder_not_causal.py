"""Transformer review, lesson 115.

Shapes: B batch, T target length, S source length, D features.
"""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def scaled_dot_product_attention(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    scores = query @ key.mT * query.shape[-1] ** -0.5
    if mask is not None:
        scores = scores.masked_fill(mask.bool().logical_not(), -torch.inf)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def _heads(self, x: Tensor) -> Tensor:
        return x.unflatten(-1, (self.h, -1)).transpose(1, 2)

    def forward(
        self, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
    ) -> tuple[Tensor, Tensor]:
        out, weights = scaled_dot_product_attention(
            self._heads(self.q_proj(query)),
            self._heads(self.k_proj(key)),
            self._heads(self.v_proj(value)),
            mask,
        )
        return self.out_proj(out.transpose(1, 2).flatten(2)), weights


class Residual(nn.Module):
    """LayerNorm(x + f(x))"""

    def __init__(self, d_model: int) -> None:
        super().__init__()
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x: Tensor, fx: Tensor) -> Tensor:
        return self.norm(x + fx)


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.add_norm_1 = Residual(d_model)
        self.add_norm_2 = Residual(d_model)

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        mask = None if key_padding_mask is None else ~key_padding_mask[:, None, None]
        x = self.add_norm_1(x, self.attention(x, x, x, mask)[0])
        return self.add_norm_2(x, self.ffn(x))


def causal_mask(size: int) -> Tensor:
    return torch.ones(size, size, dtype=torch.bool).tril()


class DecoderBlock(nn.Module):
    """Self-attention, cross-attention, feed-forward."""

    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.add_norm_1 = Residual(d_model)
        self.add_norm_2 = Residual(d_model)
        self.add_norm_3 = Residual(d_model)

    def forward(
        self, x: Tensor, memory: Tensor, memory_key_padding_mask: Tensor | None = None
    ) -> Tensor:
        mask = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None]
        x = self.add_norm_1(x, self.self_attention(x, x, x)[0])
        x = self.add_norm_2(x, self.cross_attention(x, memory, memory, mask)[0])
        return self.add_norm_3(x, self.ffn(x))


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    rate = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2) / d_model)
    angle = torch.arange(max_len)[:, None] * rate
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


class PixelBERT(nn.Module):
    def __init__(
        self,
        n_classes: int = 10,
        patch_size: int = 2,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
    ) -> None:
        super().__init__()
        self.p = patch_size
        self.n = 8 // patch_size
        self.patch_to_vector = nn.Linear(patch_size * patch_size, d_model)
        self.cls = nn.Parameter(torch.randn(d_model))
        self.positions = nn.Parameter(torch.randn(self.n**2 + 1, d_model))
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images: Tensor) -> Tensor:
        batch, n, p = len(images), self.n, self.p
        grid = images.view(batch, n, p, n, p).transpose(2, 3)  # (B, n, n, p, p)
        x = self.patch_to_vector(grid.flatten(3).flatten(1, 2))  # (B, n * n, D)
        x = torch.cat([self.cls.expand(batch, 1, -1), x], dim=1) + self.positions
        return self.head(self.block(x)[:, 0])


def mean_aggregate(features: Tensor, adjacency: Tensor) -> Tensor:
    neighbours = adjacency.bool() | torch.eye(len(adjacency), dtype=torch.bool)
    return torch.stack([features[row].mean(dim=0) for row in neighbours])


if __name__ == "__main__":
    x, memory = torch.randn(1, 6, 32), torch.randn(1, 5, 32)
    encoder, decoder = EncoderBlock(32, 4, 64), DecoderBlock(32, 4, 64)
    assert decoder(x, encoder(memory)).shape == x.shape
    assert causal_mask(3).tolist() == [[True, False, False], [True, True, False], [True] * 3]
    assert PixelBERT()(torch.rand(80, 8, 8)).shape == (80, 10)
    print("ok")
