import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def scaled_dot_product_attention(Q, K, V, mask=None):
    S = Q @ K.mT
    S = S * (1.0 / math.sqrt(K.shape[-1]))
    if mask is not None:
        S = S.masked_fill(mask.logical_not(), torch.finfo(S.dtype).min)
    A = F.softmax(S, -1)
    return A @ V, A


class MultiHeadAttention(nn.Module):
    # a single in_proj of 3*d_model rows: q rows, then k rows, then v rows
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError(f"{num_heads} heads do not divide {embed_dim}")
        self.h = num_heads
        self.in_proj = nn.Linear(embed_dim, 3 * embed_dim, bias=False)
        self.out_proj = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, attn_mask=None):
        wq, wk, wv = self.in_proj.weight.chunk(3)
        q, k, v = (
            F.linear(x, w).unflatten(-1, (self.h, -1)).transpose(1, 2)
            for x, w in ((query, wq), (key, wk), (value, wv))
        )
        y, a = scaled_dot_product_attention(q, k, v, attn_mask)
        return query + self.out_proj(y.transpose(1, 2).flatten(2)), a


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.empty(max_len, d_model)
    for i in range(0, d_model, 2):
        w = 1.0 / 10000 ** (i / d_model)
        pe[:, i] = torch.sin(torch.arange(max_len) * w)
        pe[:, i + 1] = torch.cos(torch.arange(max_len) * w)
    return pe


def causal_mask(size):
    return ~torch.triu(torch.ones(size, size, dtype=torch.bool), diagonal=1)


class AddNorm(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)

    def forward(self, x, fx):
        return self.norm(x + fx)


class EncoderBlock(nn.Module):
    """Self-attention of its own with one fused projection, rows in the order v, q, k."""

    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.n_heads = n_heads
        self.vqk = nn.Linear(d_model, 3 * d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)
        self.lin1, self.lin2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.an1, self.an2 = AddNorm(d_model), AddNorm(d_model)

    def heads(self, t):
        return t.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)

    def forward(self, x, key_padding_mask=None):
        v, q, k = map(self.heads, self.vqk(x).chunk(3, dim=-1))
        mask = None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]
        y, _ = scaled_dot_product_attention(q, k, v, mask)
        x = self.an1(x, self.o(y.transpose(1, 2).flatten(2)))
        return self.an2(x, self.lin2(self.lin1(x).relu()))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads)
        self.cross_attn = MultiHeadAttention(d_model, n_heads)
        self.lin1, self.lin2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.an = nn.ModuleList([AddNorm(d_model) for _ in range(3)])

    def forward(self, x, memory, memory_key_padding_mask=None):
        T = x.shape[1]
        x = self.an[0](x, self.self_attn(x, x, x, causal_mask(T).to(x.device))[0])
        m = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None, :]
        x = self.an[1](x, self.cross_attn(x, memory, memory, m)[0])
        return self.an[2](x, self.lin2(self.lin1(x).relu()))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patchify = nn.Conv2d(1, d_model, kernel_size=patch_size, stride=patch_size)
        n = (8 // patch_size) ** 2
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.positions = nn.Embedding(n + 1, d_model)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Sequential(nn.LayerNorm(d_model), nn.Linear(d_model, n_classes))

    def forward(self, images):
        x = self.patchify(images.unsqueeze(1)).flatten(2).transpose(1, 2)
        x = torch.cat([self.cls_token.repeat(len(x), 1, 1), x], 1)
        x = x + self.positions(torch.arange(x.shape[1], device=x.device))
        return self.head(self.block(x)[:, 0, :])


def mean_aggregate(features, adjacency):
    n = features.shape[0]
    out = torch.zeros_like(features)
    for i in range(n):
        neighbours = {j for j in range(n) if adjacency[i, j]} | {i}
        out[i] = features[sorted(neighbours)].mean(0)
    return out
