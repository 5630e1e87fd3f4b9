import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    """softmax by hand: exp, row sums, divide"""
    logits = torch.einsum("...qd,...kd->...qk", query, key) * query.shape[-1] ** -0.5
    if mask is not None:
        logits = torch.where(mask.bool(), logits, torch.tensor(-1e9))
    logits = logits - logits.amax(dim=-1, keepdim=True)
    e = torch.exp(logits)
    total = e.sum(dim=-1, keepdim=True)
    weights = e / total
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "heads have to divide the width"
        k = d_model // n_heads
        self.P = nn.Parameter(torch.randn(3, n_heads, d_model, k) / math.sqrt(d_model))
        self.R = nn.Parameter(torch.randn(n_heads, k, d_model) / math.sqrt(d_model))

    def forward(self, query, key, value, mask=None):
        q, k, v = [torch.einsum("btd,hdk->bhtk", t, p) for t, p in zip((query, key, value), self.P)]
        heads, weights = scaled_dot_product_attention(q, k, v, mask)
        return torch.einsum("bhtk,hkd->btd", heads, self.R), weights


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


def causal_mask(size):
    future = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)
    return ~future


class Norm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        sd = x.std(-1, keepdim=True)
        return self.gamma * (x - mean) / (sd + self.eps) + self.beta


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.ff = FeedForward(d_model, d_ff)
        self.ln_a = Norm(d_model)
        self.ln_b = Norm(d_model)

    def forward(self, x, key_padding_mask=None):
        allowed = None if key_padding_mask is None else (key_padding_mask == False).unsqueeze(1).unsqueeze(1)
        attended = self.attention(x, x, x, allowed)[0]
        x = self.ln_a(x + attended)
        return self.ln_b(x + self.ff(x))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.ff = FeedForward(d_model, d_ff)
        self.ln_a = Norm(d_model)
        self.ln_b = Norm(d_model)
        self.ln_c = Norm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        allowed = None if memory_key_padding_mask is None else (memory_key_padding_mask == False).unsqueeze(1).unsqueeze(1)
        attended = self.attention(x, x, x, causal_mask(x.shape[1]))[0]
        x1 = self.ln_a(x + attended)
        crossed = self.cross_attention(x1, memory, memory, allowed)[0]
        x2 = self.ln_b(x1 + crossed)
        return self.ln_c(x2 + self.ff(x2))


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
    result = []
    for i in range(len(features)):
        group = [features[j] for j in range(len(features)) if adjacency[i, j] != 0 or i == j]
        result.append(torch.stack(group).mean(dim=0))
    return torch.stack(result)


def n_params(module):
    return sum(p.numel() for p in module.parameters())
