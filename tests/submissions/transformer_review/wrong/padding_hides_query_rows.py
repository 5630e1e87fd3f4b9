import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        q = self.w_q(query).view(B, query.size(1), self.n_heads, self.d_k).transpose(1, 2)
        k = self.w_k(key).view(B, key.size(1), self.n_heads, self.d_k).transpose(1, 2)
        v = self.w_v(value).view(B, value.size(1), self.n_heads, self.d_k).transpose(1, 2)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        out = out.transpose(1, 2).reshape(B, -1, self.n_heads * self.d_k)
        return self.w_o(out), weights


def sinusoidal_positional_encoding(max_len, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    freq = 10000.0 ** (-2 * i / d_model)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


def mean_aggregate(features, adjacency):
    eye = torch.eye(len(adjacency), dtype=torch.bool)
    neigh = adjacency.bool() | eye
    w = neigh.float()
    w = w / w.sum(-1)[:, None]
    return torch.einsum("ij,jf->if", w, features)


def feed_forward(d_model, d_ff):
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class AddNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln = nn.LayerNorm(width)

    def forward(self, x, sublayer):
        return self.ln(x + sublayer(x))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha, self.ffn = MultiHeadAttention(d_model, n_heads), feed_forward(d_model, d_ff)
        self.res1, self.res2 = AddNorm(d_model), AddNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        keep = None if key_padding_mask is None else key_padding_mask.logical_not().view(x.size(0), 1, -1, 1)
        x = self.res1(x, lambda y: self.mha(y, y, y, keep)[0])
        return self.res2(x, self.ffn)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.masked, self.cross = MultiHeadAttention(d_model, n_heads), MultiHeadAttention(d_model, n_heads)
        self.ffn = feed_forward(d_model, d_ff)
        self.wraps = nn.ModuleList(AddNorm(d_model) for _ in range(3))

    def forward(self, x, memory, memory_key_padding_mask=None):
        causal = causal_mask(x.size(1))
        keep = None if memory_key_padding_mask is None else memory_key_padding_mask.logical_not().view(x.size(0), 1, 1, -1)
        one, two, three = self.wraps
        y = one(x, lambda t: self.masked(t, t, t, causal)[0])
        y = two(y, lambda t: self.cross(t, memory, memory, keep)[0])
        return three(y, self.ffn)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        n = (8 // patch_size) ** 2
        self.embed = nn.Linear(patch_size * patch_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, n + 1, d_model) * 0.02)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        B, p = images.size(0), self.p
        patches = images.unfold(1, p, p).unfold(2, p, p).reshape(B, -1, p * p)
        x = torch.cat([self.cls.expand(B, -1, -1), self.embed(patches)], dim=1)
        x = x + self.pos
        x = self.block(x)
        return self.head(x[:, 0])


if __name__ == "__main__":
    blk = EncoderBlock(32, 4, 64)
    print(sum(p.numel() for p in blk.parameters()))
