import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    att = torch.matmul(query, key.transpose(-1, -2)).div(math.sqrt(query.size(-1)))
    if mask is not None:
        att = att.masked_fill(torch.logical_not(mask), torch.finfo(att.dtype).min)
    att = F.softmax(att, dim=-1)
    return torch.matmul(att, value), att


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("bad head count")
        self.n_heads = n_heads
        self.in_proj = nn.Linear(d_model, 3 * d_model, bias=False)
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def split(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = self.in_proj.weight.chunk(3, dim=0)
        q, k, v = self.split(F.linear(query, wq)), self.split(F.linear(key, wk)), self.split(F.linear(value, wv))
        y, att = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(y.transpose(1, 2).flatten(2)), att


def sinusoidal_positional_encoding(max_len, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    freq = 10000.0 ** (-2 * i / d_model)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ln1 = nn.LayerNorm(d_model)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.ln2 = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = ~key_padding_mask[:, None, None, :]
        a, _ = self.attn(x, x, x, mask)
        x = self.ln1(x + a)
        f = self.fc2(torch.relu(self.fc1(x)))
        return self.ln2(x + f)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads)
        self.cross_attn = MultiHeadAttention(d_model, n_heads)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.ln3 = nn.LayerNorm(d_model)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        tgt_mask = causal_mask(x.size(1))
        mem_mask = None
        if memory_key_padding_mask is not None:
            mem_mask = ~memory_key_padding_mask[:, None, None, :]
        h = self.ln1(x + self.self_attn(x, x, x, tgt_mask)[0])
        c = self.ln2(h + self.cross_attn(h, memory, memory, mem_mask)[0])
        return self.ln3(h + self.fc2(torch.relu(self.fc1(c))))


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


def mean_aggregate(features, adjacency):
    loops = torch.eye(adjacency.shape[0])
    hat = torch.maximum(adjacency.float(), loops)
    degree = hat.sum(1)
    return torch.diag(1 / degree) @ hat @ features


def n_params(module):
    return sum(p.numel() for p in module.parameters())
