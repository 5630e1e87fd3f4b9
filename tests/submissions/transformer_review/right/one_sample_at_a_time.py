"""Loops over the samples of the batch, then over the heads; only 2-D products."""
import torch
from torch import nn
from torch.nn import functional as F


def _attend(q, k, v, allowed):
    s = torch.mm(q, k.t()) / q.size(1) ** 0.5
    if allowed is not None:
        s = s.masked_fill(~allowed, torch.finfo(torch.float32).min)
    w = F.softmax(s, dim=1)
    return torch.mm(w, v), w


def scaled_dot_product_attention(query, key, value, mask=None):
    lead, T_q, T_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    if mask is not None:
        mask = mask.bool().expand(*lead, T_q, T_k).reshape(-1, T_q, T_k)
    q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (query, key, value))
    pairs = [_attend(q[n], k[n], v[n], None if mask is None else mask[n]) for n in range(q.shape[0])]
    out = torch.stack([p[0] for p in pairs]).reshape(*lead, T_q, value.shape[-1])
    weights = torch.stack([p[1] for p in pairs]).reshape(*lead, T_q, T_k)
    return out, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if n_heads <= 0 or d_model % n_heads:
            raise ValueError("d_model must be a multiple of n_heads")
        self.sizes = [d_model // n_heads] * n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.ModuleList([nn.Linear(s, d_model, bias=False) for s in self.sizes])

    def forward(self, query, key, value, mask=None):
        q = torch.stack(self.wq(query).split(self.sizes, -1), 1)
        k = torch.stack(self.wk(key).split(self.sizes, -1), 1)
        v = torch.stack(self.wv(value).split(self.sizes, -1), 1)
        ctx, w = scaled_dot_product_attention(q, k, v, mask)
        out = sum(lin(ctx[:, h]) for h, lin in enumerate(self.wo))
        return out, w


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(d_model, max_len)
    t = torch.arange(max_len, dtype=torch.float32)
    for even in range(0, d_model, 2):
        pe[even] = torch.sin(t * 10000 ** (-even / d_model))
        pe[even + 1] = torch.cos(t * 10000 ** (-even / d_model))
    return pe.t().contiguous()


def causal_mask(size):
    return torch.stack([torch.arange(size) <= i for i in range(size)])


class Feedforward(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.inner = nn.Linear(d_model, d_ff)
        self.outer = nn.Linear(d_ff, d_model)

    def forward(self, x):
        h = self.inner(x)
        return self.outer(torch.maximum(h, torch.zeros_like(h)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm_after_ffn = nn.LayerNorm(d_model)
        self.norm_after_attn = nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ffn = Feedforward(d_model, d_ff)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = torch.stack([~row.expand(x.shape[1], -1) for row in key_padding_mask]).unsqueeze(1)
        x = self.norm_after_attn(x + self.attn(x, x, x, mask)[0])
        return self.norm_after_ffn(x + self.ffn(x))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm_after_ffn = nn.LayerNorm(d_model)
        self.norm_after_cross = nn.LayerNorm(d_model)
        self.norm_after_self = nn.LayerNorm(d_model)
        self.cross = MultiHeadAttention(d_model, n_heads)
        self.self_ = MultiHeadAttention(d_model, n_heads)
        self.ffn = Feedforward(d_model, d_ff)

    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.norm_after_self(x + self.self_(x, x, x, causal_mask(x.shape[1]))[0])
        mask = None
        if memory_key_padding_mask is not None:
            mask = torch.stack([~row.expand(x.shape[1], -1) for row in memory_key_padding_mask]).unsqueeze(1)
        x = self.norm_after_cross(x + self.cross(x, memory, memory, mask)[0])
        return self.norm_after_ffn(x + self.ffn(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        self.linear_patch = nn.Linear(patch_size * patch_size, d_model)
        self.cls_token = nn.Parameter(torch.zeros(d_model))
        self.pos_embedding = nn.Parameter(torch.zeros((8 // patch_size) ** 2 + 1, d_model))
        nn.init.uniform_(self.pos_embedding, -0.1, 0.1)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.hidden = nn.Linear(d_model, d_model)
        self.classifier = nn.Linear(d_model, n_classes)

    def forward(self, images):
        p = self.patch_size
        logits = []
        for image in images:
            image = image * 2 - 1                                   # centre the pixels
            tiles = [t for strip in image.split(p, 0) for t in strip.split(p, 1)]
            x = self.linear_patch(torch.stack([t.flatten() for t in tiles]))
            x = torch.vstack([self.cls_token, x]) + self.pos_embedding
            x = self.encoder(x.unsqueeze(0)).squeeze(0)
            logits.append(self.classifier(torch.tanh(self.hidden(x[0]))))
        return torch.stack(logits)


def mean_aggregate(features, adjacency):
    rows = adjacency.tolist()
    return torch.stack([
        torch.stack([features[j] for j, edge in enumerate(row) if edge or j == i]).mean(0)
        for i, row in enumerate(rows)
    ])
