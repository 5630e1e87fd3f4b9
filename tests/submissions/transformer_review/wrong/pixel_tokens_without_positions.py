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
    t = np.arange(max_len)[:, None]
    c = np.arange(d_model)[None, :]
    table = t / np.power(10000, (2 * (c // 2)) / d_model)
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table).float()


def causal_mask(size):
    r = torch.arange(size)
    return r[None, :] <= r[:, None]


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
        self.ln_a = LayerNorm(d_model)
        self.ln_b = LayerNorm(d_model)

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
        self.ln_a = LayerNorm(d_model)
        self.ln_b = LayerNorm(d_model)
        self.ln_c = LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        allowed = None if memory_key_padding_mask is None else (memory_key_padding_mask == False).unsqueeze(1).unsqueeze(1)
        attended = self.attention(x, x, x, causal_mask(x.shape[1]))[0]
        x1 = self.ln_a(x + attended)
        crossed = self.cross_attention(x1, memory, memory, allowed)[0]
        x2 = self.ln_b(x1 + crossed)
        return self.ln_c(x2 + self.ff(x2))


class PixelBERT(nn.Module):
    """8x8 digits -> squares -> tokens -> CLS -> classes"""

    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch = nn.Conv2d(1, d_model, kernel_size=patch_size, stride=patch_size)
        self.cls_token = nn.Parameter(torch.zeros(d_model))
        nn.init.normal_(self.cls_token, std=0.02)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.classify = nn.Linear(d_model, n_classes)

    def forward(self, images):
        tokens = self.patch(images[:, None]).flatten(2).transpose(1, 2)
        start = self.cls_token.repeat(len(images), 1, 1)
        seq = torch.cat((start, tokens), 1)
        return self.classify(self.encoder(seq)[:, 0, :])


def mean_aggregate(features, adjacency):
    loops = torch.eye(adjacency.shape[0])
    hat = torch.maximum(adjacency.float(), loops)
    degree = hat.sum(1)
    return torch.diag(1 / degree) @ hat @ features


def n_params(module):
    return sum(p.numel() for p in module.parameters())
