"""Heads in a ModuleList; blocks return a tuple (output, attention maps)."""
from typing import NamedTuple
import torch
import torch.nn as nn

class Attn(NamedTuple):
    output: torch.Tensor
    weights: torch.Tensor

class BlockOut(NamedTuple):
    hidden: torch.Tensor
    maps: tuple

def scaled_dot_product_attention(query, key, value, mask=None, scale=None):
    scale = query.shape[-1] ** -0.5 if scale is None else scale
    def rows(q, bias):
        return torch.softmax(q @ key.transpose(-1, -2) + bias, dim=-1)
    bias = 0 if mask is None else torch.zeros(mask.shape).masked_fill(mask == 0, torch.finfo(torch.float32).min)
    w = rows(query * scale, bias)
    return Attn(w @ value, w)

class OneHead(nn.Module):
    def __init__(self, d, k):
        super().__init__()
        self.kv = nn.Linear(d, 2 * k, bias=False)
        self.q = nn.Linear(d, k, bias=False)
    def forward(self, q, kk, vv, mask):
        n = self.q.out_features
        if mask is not None and mask.dim() == 4: mask = mask[:, 0]
        return scaled_dot_product_attention(self.q(q), self.kv(kk)[..., :n], self.kv(vv)[..., n:], mask)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.heads = nn.ModuleList([OneHead(d_model, d_model // n_heads) for _ in range(n_heads)])
        self.unify = nn.Linear(d_model, d_model, bias=False)
    def forward(self, query, key, value, mask=None):
        outs, ws = zip(*[h(query, key, value, mask) for h in self.heads])
        return Attn(self.unify(torch.cat(outs, -1)), torch.stack(ws, 1))

def sinusoidal_positional_encoding(max_len, d_model):
    out = torch.empty(max_len, d_model)
    for j in range(d_model):
        a = torch.arange(max_len, dtype=torch.double) / 10000 ** ((j - j % 2) / d_model)
        out[:, j] = a.cos() if j % 2 else a.sin()
    return out

causal_mask = lambda size: torch.full((size, size), True).tril_()

class PostNorm(nn.LayerNorm):
    def forward(self, x, sub): return super().forward(x + sub)

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.add_norm_1 = PostNorm(d_model); self.add_norm_2 = PostNorm(d_model)
        self.mlp = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else (~key_padding_mask)[:, None, None]
        a = self.attention(x, x, x, m)
        x = self.add_norm_1(x, a.output)
        return BlockOut(self.add_norm_2(x, self.mlp(x)), (a.weights,))

class DecoderBlock(EncoderBlock):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__(d_model, n_heads, d_ff)
        self.cross = MultiHeadAttention(d_model, n_heads)
        self.add_norm_x = PostNorm(d_model)
    def forward(self, x, memory, memory_key_padding_mask=None):
        a = self.attention(x, x, x, causal_mask(x.size(1)))
        x = self.add_norm_1(x, a.output)
        m = None if memory_key_padding_mask is None else (~memory_key_padding_mask)[:, None, None]
        c = self.cross(x, memory, memory, m)
        x = self.add_norm_x(x, c.output)
        return BlockOut(self.add_norm_2(x, self.mlp(x)), (a.weights, c.weights))

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64, depth=2):
        super().__init__()
        self.p = patch_size
        self.emb = nn.Linear(patch_size * patch_size, d_model, bias=False)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * .02)
        self.register_buffer("pe", sinusoidal_positional_encoding((8 // patch_size) ** 2 + 1, d_model))
        self.blocks = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff) for _ in range(depth)])
        self.head = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, n_classes))
    def forward(self, images):
        x = images.unfold(1, self.p, self.p).unfold(2, self.p, self.p).flatten(3).flatten(1, 2)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), self.emb(x)], 1) + self.pe
        for b in self.blocks: x = b(x).hidden
        return self.head(x[:, 0])

def mean_aggregate(features, adjacency):
    a = torch.maximum(adjacency.to(features), torch.eye(adjacency.size(0)).to(features))
    return torch.diag(1 / a.sum(-1)) @ a @ features
