"""The blocks don't use the class MultiHeadAttention: they hold their projections themselves."""
import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0, "n_heads must divide d_model"
        self.n_heads = n_heads
        self.q_linear = nn.Linear(d_model, d_model, bias=False)
        self.k_linear = nn.Linear(d_model, d_model, bias=False)
        self.v_linear = nn.Linear(d_model, d_model, bias=False)
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, q, k, v, mask=None):
        b, d = q.size(0), q.size(2) // self.n_heads
        q = self.q_linear(q).reshape(b, -1, self.n_heads, d).permute(0, 2, 1, 3)
        k = self.k_linear(k).reshape(b, -1, self.n_heads, d).permute(0, 2, 1, 3)
        v = self.v_linear(v).reshape(b, -1, self.n_heads, d).permute(0, 2, 1, 3)
        o, w = scaled_dot_product_attention(q, k, v, mask)
        return self.out(o.permute(0, 2, 1, 3).flatten(2)), w


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len).float()[:, None]
    i = torch.arange(d_model // 2).float()[None, :]
    angle = pos * torch.exp(-math.log(10000.0) * 2 * i / d_model)
    pe = torch.empty(max_len, d_model)
    pe[:, 0::2], pe[:, 1::2] = angle.sin(), angle.cos()
    return pe


def causal_mask(size):
    return torch.ones(size, size, dtype=torch.bool).triu(1).logical_not()


class EncoderBlock(nn.Module):
    """One fused projection, rows grouped by head: k0 q0 v0 k1 q1 v1 ..."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.n_heads = n_heads
        self.feed = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.kqv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.mix = nn.Linear(d_model, d_model, bias=True)
        self.first_norm = nn.LayerNorm(d_model)
        self.second_norm = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        b, t, c = x.shape
        k, q, v = self.kqv(x).view(b, t, self.n_heads, -1).transpose(1, 2).chunk(3, dim=-1)
        scores = q @ k.transpose(-1, -2) / math.sqrt(c // self.n_heads)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
        y = (scores.softmax(-1) @ v).transpose(1, 2).reshape(b, t, c)
        x = self.first_norm(x + self.mix(y))
        return self.second_norm(x + self.feed(x))


class DecoderBlock(nn.Module):
    """Self-attention with one small list per head; cross-attention with fused keys and values."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        d = d_model // n_heads
        self.n_heads = n_heads
        self.feed = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.q_self = nn.ModuleList([nn.Linear(d_model, d, bias=False) for _ in range(n_heads)])
        self.k_self = nn.ModuleList([nn.Linear(d_model, d, bias=False) for _ in range(n_heads)])
        self.v_self = nn.ModuleList([nn.Linear(d_model, d, bias=False) for _ in range(n_heads)])
        self.out_self = nn.Linear(d_model, d_model, bias=False)
        self.norm_c = nn.LayerNorm(d_model)
        self.norm_b = nn.LayerNorm(d_model)
        self.norm_a = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        b, t, c = x.shape
        mask = causal_mask(t)
        heads = []
        for q, k, v in zip(self.q_self, self.k_self, self.v_self):
            heads.append(scaled_dot_product_attention(q(x), k(x), v(x), mask)[0])
        x = self.norm_a(x + self.out_self(torch.cat(heads, -1)))

        keep = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, :]
        y, _ = scaled_dot_product_attention(x, memory, memory, keep)
        x = self.norm_b(x + y)
        return self.norm_c(x + self.feed(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        n = 8 // patch_size
        self.conv = nn.Conv2d(1, d_model, kernel_size=patch_size, stride=patch_size, bias=False)
        self.cls = nn.Embedding(1, d_model)
        self.pos = nn.Parameter(torch.randn(1, d_model, n, n) * 0.02)      # added to the feature map
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.fc = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = self.conv(images.view(-1, 1, 8, 8)) + self.pos
        x = x.flatten(2).transpose(1, 2)
        cls = self.cls(torch.zeros(x.size(0), 1, dtype=torch.long, device=x.device))
        return self.fc(self.block(torch.cat([cls, x], 1))[:, 0])


def mean_aggregate(features, adjacency):
    A = adjacency.detach().clone().float()
    for i in range(A.shape[0]):
        A[i, i] = 1.0
    return torch.matmul(A, features) / A.sum(dim=1).view(-1, 1)
