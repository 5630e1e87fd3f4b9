import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.wq(query), self.n_heads)
        k = split_heads(self.wk(key), self.n_heads)
        v = split_heads(self.wv(value), self.n_heads)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.wo(merge_heads(out)), w


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, n_heads)
        self.n1 = nn.LayerNorm(d_model)
        self.n2 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]
        x = self.n1(x + self.mha(x, x, x, m)[0])
        return self.n2(x + self.ff(x))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads)
        self.cross_attn = MultiHeadAttention(d_model, n_heads)
        self.n1 = nn.LayerNorm(d_model)
        self.n2 = nn.LayerNorm(d_model)
        self.n3 = nn.LayerNorm(d_model)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))

    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.n1(x + self.self_attn(x, x, x, causal_mask(x.size(1)).to(x.device))[0])
        m = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None, :]
        x = self.n2(x + self.cross_attn(x, memory, memory, m)[0])
        return self.n3(x + self.ff(x))


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float32).unsqueeze(1)
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = torch.sin(pos * div)
    pe[:, 1::2] = torch.cos(pos * div)
    return pe


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        n = (8 // patch_size) ** 2
        self.proj = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, n + 1, d_model) * 0.02)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        B = images.size(0)
        p = self.p
        x = images.unfold(1, p, p).unfold(2, p, p).reshape(B, -1, p * p)
        x = torch.cat([self.cls.expand(B, -1, -1), self.proj(x)], dim=1) + self.pos
        return self.head(self.block(x)[:, 0])


def mean_aggregate(features, adjacency):
    a = adjacency.clone()
    a.fill_diagonal_(1.0)
    return (a @ features) / a.sum(1, keepdim=True)
