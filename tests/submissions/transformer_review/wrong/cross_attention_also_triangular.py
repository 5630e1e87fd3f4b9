"""Transformer review homework."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    att = torch.matmul(query, key.transpose(-1, -2)).div(math.sqrt(query.size(-1)))
    if mask is not None:
        att = att.masked_fill(torch.logical_not(mask), torch.finfo(att.dtype).min)
    att = F.softmax(att, dim=-1)
    return torch.matmul(att, value), att


class MultiHeadAttention(nn.Module):
    def __init__(self, D, H):
        super().__init__()
        if D % H != 0:
            raise ValueError("bad head count")
        self.H = H
        self.in_proj = nn.Linear(D, 3 * D, bias=False)
        self.out_proj = nn.Linear(D, D, bias=False)

    def split(self, t):
        return t.unflatten(-1, (self.H, -1)).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = self.in_proj.weight.chunk(3, dim=0)
        q, k, v = self.split(F.linear(query, wq)), self.split(F.linear(key, wk)), self.split(F.linear(value, wv))
        y, att = scaled_dot_product_attention(q, k, v, mask)
        return self.out_proj(y.transpose(1, 2).flatten(2)), att


def sinusoidal_positional_encoding(max_len, D):
    pe = torch.zeros(max_len, D)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, D, 2).float() * (-math.log(10000.0) / D))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


def causal_mask(size):
    future = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)
    return ~future


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


class FeedForward(nn.Module):
    def __init__(self, D, inner):
        super().__init__()
        self.up = nn.Linear(D, inner)
        self.down = nn.Linear(inner, D)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class EncoderBlock(nn.Module):
    def __init__(self, D, H, inner):
        super().__init__()
        self.attention = MultiHeadAttention(D, H)
        self.ff = FeedForward(D, inner)
        self.n1 = LayerNorm(D)
        self.n2 = LayerNorm(D)

    def forward(self, x, key_padding_mask=None):
        allowed = None if key_padding_mask is None else (key_padding_mask == False).unsqueeze(1).unsqueeze(1)
        attended = self.attention(x, x, x, allowed)[0]
        x = self.n1(x + attended)
        return self.n2(x + self.ff(x))


class DecoderBlock(nn.Module):
    def __init__(self, D, H, inner):
        super().__init__()
        self.attention = MultiHeadAttention(D, H)
        self.cross_attention = MultiHeadAttention(D, H)
        self.ff = FeedForward(D, inner)
        self.n1 = LayerNorm(D)
        self.n2 = LayerNorm(D)
        self.n3 = LayerNorm(D)

    def forward(self, x, memory, memory_key_padding_mask=None):
        allowed = None if memory_key_padding_mask is None else (memory_key_padding_mask == False).unsqueeze(1).unsqueeze(1)
        T, S = x.shape[1], memory.shape[1]
        look = causal_mask(max(T, S))
        allowed = look[:T, :S] if allowed is None else allowed & look[:T, :S]
        attended = self.attention(x, x, x, look[:T, :T])[0]
        x1 = self.n1(x + attended)
        crossed = self.cross_attention(x1, memory, memory, allowed)[0]
        x2 = self.n2(x1 + crossed)
        return self.n3(x2 + self.ff(x2))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, D=32, H=4, inner=64):
        super().__init__()
        self.ps = patch_size
        self.side = 8 // patch_size
        self.proj = nn.Linear(patch_size ** 2, D)
        self.cls = nn.Parameter(torch.randn(1, 1, D))
        self.pos_emb = nn.Parameter(0.02 * torch.randn(self.side ** 2 + 1, D))
        self.enc = EncoderBlock(D, H, inner)
        self.out = nn.Linear(D, n_classes)

    def cut(self, images):
        s, p = self.side, self.ps
        grid = images.reshape(-1, s, p, s, p)
        return grid.permute(0, 1, 3, 2, 4).reshape(-1, s * s, p * p)

    def forward(self, images):
        x = self.proj(self.cut(images))
        x = torch.cat([self.cls.repeat(x.shape[0], 1, 1), x], dim=1) + self.pos_emb
        x = self.enc(x)
        return self.out(x[:, 0])


def mean_aggregate(features, adjacency):
    result = []
    for i in range(len(features)):
        group = [features[j] for j in range(len(features)) if adjacency[i, j] != 0 or i == j]
        result.append(torch.stack(group).mean(dim=0))
    return torch.stack(result)
