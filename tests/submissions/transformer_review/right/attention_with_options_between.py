"""All layers take need_weights BETWEEN the value and the mask (it has a default)."""
import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None, need_weights=True):
    s = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        s = s.masked_fill(mask == 0, -1e9)
    w = s.softmax(-1)
    return (w @ value, w) if need_weights else (w @ value, None)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, bias=False):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads")
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model, bias=bias)
        self.k = nn.Linear(d_model, d_model, bias=bias)
        self.v = nn.Linear(d_model, d_model, bias=bias)
        self.o = nn.Linear(d_model, d_model, bias=bias)

    def forward(self, query, key, value, need_weights=True, mask=None):
        q, k, v = (f(x).unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
                   for f, x in ((self.q, query), (self.k, key), (self.v, value)))
        y, w = scaled_dot_product_attention(q, k, v, mask)
        y = self.o(y.transpose(1, 2).flatten(2))
        return (y, w) if need_weights else (y, None)


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    a = torch.arange(max_len)[:, None] * torch.exp(-math.log(10000) * torch.arange(0, d_model, 2) / d_model)
    pe[:, 0::2], pe[:, 1::2] = a.sin(), a.cos()
    return pe


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, bias=False):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads, bias)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        mask = None if key_padding_mask is None else ~key_padding_mask.bool()[:, None, None, :]
        x = self.norm1(x + self.attn(x, x, x, mask=mask)[0])
        return self.norm2(x + self.ffn(x))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, bias=False):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads, bias)
        self.cross_attn = MultiHeadAttention(d_model, n_heads, bias)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norms = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(3))

    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.norms[0](x + self.self_attn(x, x, x, mask=causal_mask(x.size(1)))[0])
        m = None if memory_key_padding_mask is None else ~memory_key_padding_mask.bool()[:, None, None, :]
        x = self.norms[1](x + self.cross_attn(x, memory, memory, mask=m)[0])
        return self.norms[2](x + self.ffn(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch = nn.Conv2d(1, d_model, patch_size, patch_size)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(torch.randn(1, (8 // patch_size) ** 2 + 1, d_model) * 0.02)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = self.patch(images.unsqueeze(1)).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), x], 1) + self.pos
        return self.head(self.block(x)[:, 0])


def mean_aggregate(features, adjacency):
    a = ((adjacency + torch.eye(len(adjacency))) > 0).to(features.dtype)
    return (a @ features) / a.sum(1, keepdim=True)


ANSWERS = {"scale": "A", "model": "A", "cost": "A", "cost_factor": 4}
