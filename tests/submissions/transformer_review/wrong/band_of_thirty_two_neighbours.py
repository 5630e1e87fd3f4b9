import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.size(-1)
    n_q, n_k = query.size(-2), key.size(-2)
    if mask is not None:
        mask = mask.expand(*mask.shape[:-2], n_q, n_k)
    weights = query.new_zeros(*query.shape[:-1], n_k)
    rows = []
    for i in range(n_q):
        centre = min(i, n_k - 1)
        near = slice(max(0, centre - 32), centre + 33)
        s = query[..., i:i + 1, :] @ key[..., near, :].transpose(-2, -1) / math.sqrt(d_k)
        if mask is not None:
            s = s.masked_fill(mask[..., i:i + 1, near] == 0, -1e9)
        w = s.softmax(dim=-1)
        rows.append(w @ value[..., near, :])
        weights[..., i:i + 1, near] = w
    return torch.cat(rows, dim=-2), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        q = self.w_q(query).view(B, query.size(1), self.n_heads, self.d_k).transpose(1, 2)
        k = self.w_k(key).view(B, key.size(1), self.n_heads, self.d_k).transpose(1, 2)
        v = self.w_v(value).view(B, value.size(1), self.n_heads, self.d_k).transpose(1, 2)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        out = out.transpose(1, 2).reshape(B, -1, self.n_heads * self.d_k)
        return self.w_o(out), weights


def sinusoidal_positional_encoding(max_len, d_model):
    t = np.arange(max_len)[:, None]
    c = np.arange(d_model)[None, :]
    table = t / np.power(10000, (2 * (c // 2)) / d_model)
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table).float()


def causal_mask(size):
    future = torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)
    return ~future


def feed_forward(d_model, d_ff):
    return nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))


class AddNorm(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.ln = nn.LayerNorm(width)

    def forward(self, x, sublayer):
        return self.ln(x + sublayer(x))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha, self.ffn = MultiHeadAttention(d_model, n_heads), feed_forward(d_model, d_ff)
        self.wrap_a, self.wrap_f = AddNorm(d_model), AddNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        keep = None if key_padding_mask is None else key_padding_mask.logical_not().view(x.size(0), 1, 1, -1)
        x = self.wrap_a(x, lambda y: self.mha(y, y, y, keep)[0])
        return self.wrap_f(x, self.ffn)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.masked, self.cross = MultiHeadAttention(d_model, n_heads), MultiHeadAttention(d_model, n_heads)
        self.ffn = feed_forward(d_model, d_ff)
        self.wraps = nn.ModuleList(AddNorm(d_model) for _ in range(3))

    def forward(self, x, memory, memory_key_padding_mask=None):
        causal = causal_mask(x.size(1))
        keep = None if memory_key_padding_mask is None else memory_key_padding_mask.logical_not().view(x.size(0), 1, 1, -1)
        one, two, three = self.wraps
        y = one(x, lambda t: self.masked(t, t, t, causal)[0])
        y = two(y, lambda t: self.cross(t, memory, memory, keep)[0])
        return three(y, self.ffn)


class PixelBERT(nn.Module):
    """8x8 digits -> squares -> tokens -> CLS -> classes"""

    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch = nn.Conv2d(1, d_model, kernel_size=patch_size, stride=patch_size)
        self.cls_token = nn.Parameter(torch.zeros(d_model))
        nn.init.normal_(self.cls_token, std=0.02)
        self.position = nn.Embedding((8 // patch_size) ** 2 + 1, d_model)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.classify = nn.Linear(d_model, n_classes)

    def forward(self, images):
        tokens = self.patch(images[:, None]).flatten(2).transpose(1, 2)
        start = self.cls_token.repeat(len(images), 1, 1)
        seq = torch.cat((start, tokens), 1)
        seq = seq + self.position.weight
        return self.classify(self.encoder(seq)[:, 0, :])


def mean_aggregate(features, adjacency):
    a = adjacency.clone().float()
    a.fill_diagonal_(1.0)
    return a @ features / a.sum(dim=1, keepdim=True)


if __name__ == "__main__":
    blk = EncoderBlock(32, 4, 64)
    print(sum(p.numel() for p in blk.parameters()))
