import math
import torch
import torch.nn as nn
import old_draft
from old_draft import FeedForward, heads_first, heads_last


def scaled_dot_product_attention(query, key, value, mask=None):
    """mask: True = may attend."""
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.q, self.k, self.v, self.o = [nn.Linear(d_model, d_model, bias=False) for _ in range(4)]

    def forward(self, query, key, value, mask=None):
        q, k, v = (heads_first(f(x), self.n_heads) for f, x in ((self.q, query), (self.k, key), (self.v, value)))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(heads_last(out)), weights


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    pos = torch.arange(max_len).unsqueeze(1)
    freq = 10000 ** (-torch.arange(0, d_model, 2) / d_model)
    pe[:, 0::2] = (pos * freq).sin()
    pe[:, 1::2] = (pos * freq).cos()
    return pe


def causal_mask(size):
    return old_draft.causal_mask(size) == 0


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ffn = FeedForward(d_model, d_ff)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])

    def forward(self, x, key_padding_mask=None):
        mask = None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]
        x = self.norms[0](x + self.attn(x, x, x, mask)[0])
        return self.norms[1](x + self.ffn(x))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.cross = MultiHeadAttention(d_model, n_heads)
        self.ffn = FeedForward(d_model, d_ff)
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(3)])

    def forward(self, x, memory, memory_key_padding_mask=None):
        mask = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None, :]
        x = self.norms[0](x + self.attn(x, x, x, causal_mask(x.size(1)))[0])
        x = self.norms[1](x + self.cross(x, memory, memory, mask)[0])
        return self.norms[2](x + self.ffn(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.zeros(d_model))
        self.pos = nn.Parameter(torch.randn((8 // patch_size) ** 2 + 1, d_model) * 0.1)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = images.unfold(1, self.p, self.p).unfold(2, self.p, self.p).flatten(1, 2).flatten(2)
        x = torch.cat([self.cls.expand(len(x), 1, -1), self.embed(x)], 1) + self.pos
        return self.head(self.block(x)[:, 0])


def mean_aggregate(features, adjacency):
    A = adjacency.float()
    A = A - A.diag().diag() + torch.eye(len(A))
    return A @ features / A.sum(1, keepdim=True)
