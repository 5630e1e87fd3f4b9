import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    scores = query @ key.transpose(-2, -1) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        q = self.Wq(query).view(B, query.size(1), self.n_heads, self.d_k).transpose(1, 2)
        k = self.Wk(key).view(B, key.size(1), self.n_heads, self.d_k).transpose(1, 2)
        v = self.Wv(value).view(B, value.size(1), self.n_heads, self.d_k).transpose(1, 2)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        out = out.transpose(1, 2).reshape(B, -1, self.n_heads * self.d_k)
        return self.Wo(out), weights


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


def causal_mask(size):
    return torch.tril(torch.ones(size, size)).bool()


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)
        self.norm2 = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = ~key_padding_mask[:, None, None, :]
        a, _ = self.attn(x, x, x, mask)
        x = self.norm1(x + a)
        f = self.fc2(torch.relu(self.fc1(x)))
        return self.norm2(x + f)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads)
        self.cross_attn = MultiHeadAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.norm3 = nn.LayerNorm(d_model)
        self.fc1 = nn.Linear(d_model, d_ff)
        self.fc2 = nn.Linear(d_ff, d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        tgt_mask = causal_mask(x.size(1))
        mem_mask = None
        if memory_key_padding_mask is not None:
            mem_mask = ~memory_key_padding_mask[:, None, None, :]
        h = self.norm1(x + self.self_attn(x, x, x, tgt_mask)[0])
        c = self.norm2(h + self.cross_attn(h, memory, memory, mem_mask)[0])
        return self.norm3(c + self.fc2(torch.relu(self.fc1(c))))


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
    degree = hat.sum(0)
    return torch.diag(1 / degree) @ hat @ features


if __name__ == "__main__":
    blk = EncoderBlock(32, 4, 64)
    print(sum(p.numel() for p in blk.parameters()))
