"""Lesson 115, Transformer End-to-End Review."""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-1, -2) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    """PyTorch has this already, only the mask must be turned round: there True = hidden."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.n_heads = n_heads
        self.mha = nn.MultiheadAttention(d_model, n_heads, bias=False, batch_first=True)

    def forward(self, query, key, value, mask=None):
        attn_mask = None
        if mask is not None:
            shape = (query.size(0), self.n_heads, query.size(1), key.size(1))
            attn_mask = (mask == 0).expand(shape).flatten(0, 1)  # (B * H, T_q, T_k)
        return self.mha(query, key, value, attn_mask=attn_mask, average_attn_weights=False)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = ~key_padding_mask[:, None, None, :]
        x = self.norm1(x + self.attention(x, x, x, mask)[0])
        x = self.norm2(x + self.linear2(F.relu(self.linear1(x))))
        return x


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        mask = None
        if memory_key_padding_mask is not None:
            mask = ~memory_key_padding_mask[:, None, None, :]
        x = self.norm1(x + self.self_attention(x, x, x, causal_mask(x.size(1)))[0])
        x = self.norm2(x + self.cross_attention(x, memory, memory, mask)[0])
        x = self.norm3(x + self.linear2(F.relu(self.linear1(x))))
        return x


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patches = nn.Conv2d(1, d_model, patch_size, stride=patch_size)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, 1 + 64 // patch_size**2, d_model) * 0.02)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = self.patches(images.unsqueeze(1)).flatten(2).mT
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1) + self.positions
        return self.head(self.encoder(x)[:, 0])


def mean_aggregate(features, adjacency):
    a = adjacency.clone().fill_diagonal_(1.0)
    return a @ features / a.sum(-1, keepdim=True)
