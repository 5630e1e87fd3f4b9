import copy
import math
import torch
from torch import nn


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


def causal_mask(size):
    """True where a position may look."""
    future = torch.triu(torch.ones(size, size, dtype=torch.uint8), diagonal=1)
    return future == 0


def scaled_dot_product_attention(query, key, value, mask=None, dropout=None):
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p = scores
    if dropout is not None:
        p = dropout(p)
    return torch.matmul(p, value), p


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, h, dropout=0.1):
        super().__init__()
        assert d_model % h == 0
        self.d_k = d_model // h
        self.h = h
        self.linears = clones(nn.Linear(d_model, d_model), 4)
        self.dropout = nn.Dropout(p=dropout)

    def forward(self, query, key, value, mask=None):
        n = query.size(0)
        query, key, value = [
            lin(x).view(n, -1, self.h, self.d_k).transpose(1, 2)
            for lin, x in zip(self.linears, (query, key, value))
        ]
        x, attn = scaled_dot_product_attention(query, key, value, mask, self.dropout)
        x = x.transpose(1, 2).contiguous().view(n, -1, self.h * self.d_k)
        return self.linears[-1](x), attn


class SublayerConnection(nn.Module):
    """Residual connection followed by a layer norm."""

    def __init__(self, size, dropout):
        super().__init__()
        self.a_2 = nn.Parameter(torch.ones(size))
        self.b_2 = nn.Parameter(torch.zeros(size))
        self.dropout = nn.Dropout(dropout)

    def norm(self, x):
        mean = x.mean(-1, keepdim=True)
        std = x.var(-1, keepdim=True, unbiased=False).add(1e-6).sqrt()
        return self.a_2 * (x - mean) / std + self.b_2

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class PositionwiseFeedForward(nn.Module):
    def __init__(self, d_model, d_ff, dropout=0.1):
        super().__init__()
        self.w_1 = nn.Linear(d_model, d_ff)
        self.w_2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x):
        return self.w_2(self.dropout(self.w_1(x).relu()))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.sublayer = clones(SublayerConnection(d_model, dropout), 2)

    def forward(self, x, key_padding_mask=None):
        mask = None if key_padding_mask is None else (key_padding_mask == 0).unsqueeze(1).unsqueeze(1)
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, mask)[0])
        return self.sublayer[1](x, self.feed_forward)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.self_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.src_attn = MultiHeadAttention(d_model, n_heads, dropout)
        self.feed_forward = PositionwiseFeedForward(d_model, d_ff, dropout)
        self.sublayer = clones(SublayerConnection(d_model, dropout), 3)

    def forward(self, x, memory, memory_key_padding_mask=None):
        m = memory
        src_mask = None
        if memory_key_padding_mask is not None:
            src_mask = (memory_key_padding_mask == 0).unsqueeze(1).unsqueeze(1)
        tgt_mask = causal_mask(x.size(1)).to(x.device)
        x = self.sublayer[0](x, lambda x: self.self_attn(x, x, x, tgt_mask)[0])
        x = self.sublayer[1](x, lambda x: self.src_attn(x, m, m, src_mask)[0])
        return self.sublayer[2](x, self.feed_forward)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, max_len=5000):
        super().__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2) * -(math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe)


def sinusoidal_positional_encoding(max_len, d_model):
    return PositionalEncoding(d_model, max_len).pe


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64, dropout=0.1):
        super().__init__()
        self.patch = patch_size
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.pos = nn.Parameter(torch.zeros(1, 1 + (8 // patch_size) ** 2, d_model))
        nn.init.trunc_normal_(self.pos, std=0.02)
        nn.init.trunc_normal_(self.cls, std=0.02)
        self.dropout = nn.Dropout(dropout)
        self.layer = EncoderBlock(d_model, n_heads, d_ff, dropout)
        self.generator = nn.Linear(d_model, n_classes)

    def forward(self, images):
        p = self.patch
        rows = torch.stack(images.split(p, dim=1), dim=1)               # (B, n, p, 8)
        squares = torch.stack(rows.split(p, dim=3), dim=2)              # (B, n, n, p, p)
        x = self.embed(squares.flatten(3).flatten(1, 2))
        x = torch.cat([self.cls.expand(x.size(0), 1, x.size(2)), x], dim=1)
        x = self.layer(self.dropout(x + self.pos))
        return self.generator(x[:, 0])


def mean_aggregate(features, adjacency):
    a_hat = ((adjacency + torch.eye(adjacency.size(0), dtype=torch.int64)) > 0).float()
    return a_hat @ features / a_hat.sum(-1, keepdim=True)
