"""Assignment transformer_review. Everything with plain nn.Linear layers, as in the lesson."""
import math

import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.W_q = nn.Linear(d_model, d_model, bias=False)
        self.W_k = nn.Linear(d_model, d_model, bias=False)
        self.W_v = nn.Linear(d_model, d_model, bias=False)
        self.W_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        B, T, D = x.shape
        return x.view(B, T, self.n_heads, self.d_k).transpose(1, 2)

    def forward(self, query, key, value, mask=None):
        q = self.split(self.W_q(query))
        k = self.split(self.W_k(key))
        v = self.split(self.W_v(value))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        B, H, T, d_k = out.shape
        out = out.transpose(1, 2).contiguous().view(B, T, H * d_k)
        return self.W_o(out), weights


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(max_len, dtype=torch.float32).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = ~key_padding_mask[:, None, None, :]
        attn_out, _ = self.attention(x, x, x, mask)
        x = self.norm1(x + attn_out)
        x = self.norm2(x + self.ffn(x))
        return x


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm3 = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        mask = causal_mask(x.size(1)).to(x.device)
        attn_out, _ = self.self_attention(x, x, x, mask)
        x = self.norm1(x + attn_out)
        memory_mask = None
        if memory_key_padding_mask is not None:
            memory_mask = ~memory_key_padding_mask[:, None, None, :]
        cross_out, _ = self.cross_attention(x, memory, memory, memory_mask)
        x = self.norm2(x + cross_out)
        x = self.norm3(x + self.ffn(x))
        return x


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        n_patches = (8 // patch_size) ** 2
        self.patch_proj = nn.Linear(patch_size * patch_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, n_patches + 1, d_model) * 0.02)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        B = images.size(0)
        p = self.patch_size
        patches = images.unfold(1, p, p).unfold(2, p, p)
        patches = patches.reshape(B, -1, p * p)
        x = self.patch_proj(patches)
        cls = self.cls.expand(B, -1, -1)
        x = torch.cat([cls, x], dim=1) + self.pos
        x = self.encoder(x)
        return self.head(x[:, 0])


def mean_aggregate(features, adjacency):
    A = adjacency.float()
    A.fill_diagonal_(1.0)
    degree = A.sum(dim=1, keepdim=True)
    return (A / degree) @ features


if __name__ == "__main__":
    block = EncoderBlock(32, 4, 64)
    print("encoder block parameters:", sum(p.numel() for p in block.parameters()))
