"""Lesson 115: from attention to PixelBERT."""

import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / d_k**0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model must be a multiple of n_heads")
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        # (B, T, D) -> (B, T, H, d_k) -> (B, H, T, d_k)
        q = self.W_q(query).view(B, -1, self.n_heads, self.d_k).transpose(1, 2)
        k = self.W_k(key).view(B, -1, self.n_heads, self.d_k).transpose(1, 2)
        v = self.W_v(value).view(B, -1, self.n_heads, self.d_k).transpose(1, 2)
        x, weights = scaled_dot_product_attention(q, k, v, mask)
        x = x.transpose(1, 2).contiguous().view(B, -1, self.n_heads * self.d_k)
        return self.W_o(x), weights


def causal_mask(size):
    return torch.tril(torch.ones(size, size, dtype=torch.bool))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        # a token must not see the tokens after it
        mask = causal_mask(x.size(1))
        if key_padding_mask is not None:
            mask = mask & ~key_padding_mask[:, None, None, :]
        attn_out, _ = self.self_attn(x, x, x, mask)
        x = self.norm1(x + attn_out)
        x = self.norm2(x + self.ff(x))
        return x


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.cross_attn = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        attn_out, _ = self.self_attn(x, x, x, causal_mask(x.size(1)))
        x = self.norm1(x + attn_out)
        mask = None
        if memory_key_padding_mask is not None:
            mask = ~memory_key_padding_mask[:, None, None, :]
        attn_out, _ = self.cross_attn(x, memory, memory, mask)
        x = self.norm2(x + attn_out)
        x = self.norm3(x + self.ff(x))
        return x


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(max_len).float().unsqueeze(1)
    div_term = torch.pow(10000.0, torch.arange(0, d_model, 2).float() / d_model)
    pe[:, 0::2] = torch.sin(position / div_term)
    pe[:, 1::2] = torch.cos(position / div_term)
    return pe


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        # a convolution whose kernel is as large as its stride cuts the image into squares
        self.patch_proj = nn.Conv2d(1, d_model, kernel_size=patch_size, stride=patch_size)
        num_patches = (8 // patch_size) ** 2
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos_embed = nn.Parameter(torch.randn(1, num_patches + 1, d_model) * 0.02)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = self.patch_proj(images.unsqueeze(1)).flatten(2).transpose(1, 2)  # (B, P, D)
        cls = self.cls_token.expand(images.size(0), -1, -1)
        x = torch.cat([cls, x], dim=1) + self.pos_embed
        x = self.encoder(x)
        return self.head(x[:, 0])


def mean_aggregate(features, adjacency):
    A = ((adjacency + torch.eye(len(adjacency))) > 0).float()
    return (A @ features) / A.sum(dim=1, keepdim=True)
