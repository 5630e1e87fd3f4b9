"""Transformer review homework."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, D, H):
        super().__init__()
        if D % H != 0:
            raise ValueError("D must be divisible by H")
        self.H, self.d_k = H, D // H
        self.w_q = nn.Linear(D, D, bias=False)
        self.w_k = nn.Linear(D, D, bias=False)
        self.w_v = nn.Linear(D, D, bias=False)
        self.w_o = nn.Linear(D, D, bias=False)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        q = self.w_q(query).view(B, query.size(1), self.H, self.d_k).transpose(1, 2)
        k = self.w_k(key).view(B, key.size(1), self.H, self.d_k).transpose(1, 2)
        v = self.w_v(value).view(B, value.size(1), self.H, self.d_k).transpose(1, 2)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        out = out.transpose(1, 2).reshape(B, -1, self.H * self.d_k)
        return self.w_o(out), weights


def causal_mask(size):
    future = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)
    return ~future


def sinusoidal_positional_encoding(max_len, D):
    t = np.arange(max_len)[:, None]
    c = np.arange(D)[None, :]
    table = t / np.power(10000, (2 * (c // 2)) / D)
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table).float()


class EncoderBlock(nn.Module):
    def __init__(self, D, H, inner):
        super().__init__()
        self.attn = MultiHeadAttention(D, H)
        self.norm1 = nn.LayerNorm(D)
        self.fc1 = nn.Linear(D, inner)
        self.fc2 = nn.Linear(inner, D)
        self.norm2 = nn.LayerNorm(D)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = ~key_padding_mask[:, None, None, :]
        a, _ = self.attn(x, x, x, mask)
        x = self.norm1(x + a)
        f = self.fc2(torch.relu(self.fc1(x)))
        return self.norm2(x + f)


class DecoderBlock(nn.Module):
    def __init__(self, D, H, inner):
        super().__init__()
        self.tgt_attn = MultiHeadAttention(D, H)
        self.src_attn = MultiHeadAttention(D, H)
        self.norm1 = nn.LayerNorm(D)
        self.norm2 = nn.LayerNorm(D)
        self.fc1 = nn.Linear(D, inner)
        self.fc2 = nn.Linear(inner, D)

    def forward(self, x, memory, memory_key_padding_mask=None):
        tgt_mask = causal_mask(x.size(1))
        mem_mask = None
        if memory_key_padding_mask is not None:
            mem_mask = ~memory_key_padding_mask[:, None, None, :]
        h = self.norm1(x + self.tgt_attn(x, x, x, tgt_mask)[0])
        c = self.norm2(h + self.src_attn(h, memory, memory, mem_mask)[0])
        return self.norm2(c + self.fc2(torch.relu(self.fc1(c))))


def mean_aggregate(features, adjacency):
    result = []
    for i in range(len(features)):
        group = [features[j] for j in range(len(features)) if adjacency[i, j] != 0 or i == j]
        result.append(torch.stack(group).mean(dim=0))
    return torch.stack(result)


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
