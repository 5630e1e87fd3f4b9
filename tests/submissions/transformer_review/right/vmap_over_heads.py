import math
import torch
import torch.nn as nn
from torch.func import vmap


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1)
    scores = scores / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, -1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        d_k = d_model // n_heads
        # rows: q, k, v; one (d_k, d_model) matrix for every head
        self.in_weight = nn.Parameter(torch.randn(3, n_heads, d_k, d_model) / math.sqrt(d_model))
        self.out_weight = nn.Parameter(torch.randn(d_model, d_model) / math.sqrt(d_model))

    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask[:, 0]

        def one_head(wq, wk, wv):
            return scaled_dot_product_attention(query @ wq.T, key @ wk.T, value @ wv.T, mask)

        out, weights = vmap(one_head, out_dims=1)(*self.in_weight)       # (B, H, T, ...)
        out = out.permute(0, 2, 1, 3).flatten(-2)
        return out @ self.out_weight.T, weights


def sinusoidal_positional_encoding(max_len, d_model):
    def row(pos):
        angle = pos / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
        return torch.stack([torch.sin(angle), torch.cos(angle)], 1).flatten()

    return vmap(row)(torch.arange(max_len, dtype=torch.float64)).float()


def causal_mask(size):
    i = torch.arange(size)
    return vmap(lambda q: i <= q)(i)


class Residual(nn.Module):
    def __init__(self, layer, d_model):
        super().__init__()
        self.layer = layer
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, *args):
        y = self.layer(x, *args)
        if isinstance(y, tuple):
            y = y[0]
        return self.norm(x + y)


class SelfAttention(MultiHeadAttention):
    def forward(self, x, mask=None):
        return super().forward(x, x, x, mask)


class CrossAttention(MultiHeadAttention):
    def forward(self, x, memory, mask=None):
        return super().forward(x, memory, memory, mask)


def feed_forward(d_model, d_ff):
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


def to_mask(padding):
    if padding is not None:
        return padding[:, None, None, :] == False  # noqa: E712


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attend = Residual(SelfAttention(d_model, n_heads), d_model)
        self.think = Residual(feed_forward(d_model, d_ff), d_model)

    def forward(self, x, key_padding_mask=None):
        return self.think(self.attend(x, to_mask(key_padding_mask)))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attend = Residual(SelfAttention(d_model, n_heads), d_model)
        self.read = Residual(CrossAttention(d_model, n_heads), d_model)
        self.think = Residual(feed_forward(d_model, d_ff), d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.attend(x, causal_mask(x.shape[1]))
        x = self.read(x, memory, to_mask(memory_key_padding_mask))
        return self.think(x)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(d_model) * 0.1)
        self.pos = nn.Parameter(torch.randn((8 // patch_size) ** 2 + 1, d_model) * 0.1)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def tokens(self, image):
        p = self.patch_size
        squares = image.unfold(0, p, p).unfold(1, p, p).reshape(-1, p * p)
        return torch.cat([self.cls[None], self.embed(squares)]) + self.pos

    def forward(self, images):
        x = torch.stack([self.tokens(image) for image in images])
        return self.head(self.block(x)[:, 0])


def mean_aggregate(features, adjacency):
    n = adjacency.shape[0]
    index = torch.arange(n)

    def node(i, row):
        w = ((row != 0) | (index == i)).float()
        return (w[:, None] * features).sum(0) / w.sum()

    return vmap(node)(index, adjacency)
