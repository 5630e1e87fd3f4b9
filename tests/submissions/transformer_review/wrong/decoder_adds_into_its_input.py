"""The decoder block adds the attention into the tensor that it was given."""

import math

import torch
from torch import nn

# ---- 1. attention ----


def scaled_dot_product_attention(query, key, value, mask=None):
    """mask: True = may attend"""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -math.inf)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError(f"{n_heads} heads do not divide {d_model} features")
        self.n_heads = n_heads
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.k = nn.Linear(d_model, d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        batch, length, d_model = x.shape
        return x.reshape(batch, length, self.n_heads, d_model // self.n_heads).transpose(1, 2)

    def merge(self, x):
        batch, n_heads, length, d_k = x.shape
        return x.transpose(1, 2).reshape(batch, length, n_heads * d_k)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.split(self.q(query)), self.split(self.k(key)), self.split(self.v(value))
        output, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(self.merge(output)), weights


# ---- parts that both blocks need ----


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gain = nn.Parameter(torch.ones(features))
        self.bias = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        variance = x.var(-1, keepdim=True, unbiased=False)
        return self.gain * (x - mean) / torch.sqrt(variance + self.eps) + self.bias


class FeedForward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.contract(torch.relu(self.expand(x)))


def may_attend(key_padding_mask):
    """(B, T) with True = ignore  ->  (B, 1, 1, T) with True = may attend"""
    if key_padding_mask is None:
        return None
    return ~key_padding_mask[:, None, None, :]


# ---- 2. and 3. blocks ----


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = LayerNorm(d_model)
        self.ffn = FeedForward(d_model, d_ff)
        self.norm2 = LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        attended, _ = self.attention(x, x, x, may_attend(key_padding_mask))
        x = self.norm1(x + attended)
        return self.norm2(x + self.ffn(x))


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attention = MultiHeadAttention(d_model, n_heads)
        self.norm1 = LayerNorm(d_model)
        self.cross_attention = MultiHeadAttention(d_model, n_heads)
        self.norm2 = LayerNorm(d_model)
        self.ffn = FeedForward(d_model, d_ff)
        self.norm3 = LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        attended, _ = self.self_attention(x, x, x, causal_mask(x.shape[1]))
        x += attended
        x = self.norm1(x)
        mask = may_attend(memory_key_padding_mask)
        attended, _ = self.cross_attention(x, memory, memory, mask)
        x = self.norm2(x + attended)
        return self.norm3(x + self.ffn(x))


# ---- 4. positions ----


def sinusoidal_positional_encoding(max_len, d_model):
    position = torch.arange(max_len).unsqueeze(1)
    angle = position / 10000 ** (torch.arange(0, d_model, 2) / d_model)
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = angle.sin()
    pe[:, 1::2] = angle.cos()
    return pe


# ---- 6. PixelBERT ----


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        n_patches = (8 // patch_size) ** 2
        self.project = nn.Linear(patch_size**2, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.positions = nn.Parameter(torch.randn(1, n_patches + 1, d_model) * 0.02)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def patches(self, images):
        """(B, 8, 8) -> (B, P, p * p), square by square"""
        p = self.patch_size
        squares = images.unfold(1, p, p).unfold(2, p, p)  # (B, 8 / p, 8 / p, p, p)
        return squares.reshape(images.shape[0], -1, p * p)

    def forward(self, images):
        x = self.project(self.patches(images))
        cls = self.cls.expand(x.shape[0], -1, -1)
        x = torch.cat([cls, x], dim=1) + self.positions
        return self.head(self.block(x)[:, 0])


# ---- 7. graph layer ----


def mean_aggregate(features, adjacency):
    n = adjacency.shape[0]
    with_self = torch.maximum(adjacency, torch.eye(n))  # a self-loop that is there stays 1
    return with_self @ features / with_self.sum(dim=1, keepdim=True)


# ---- 8. questions ----
