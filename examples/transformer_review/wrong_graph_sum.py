"""Review of the Transformer (lesson 115): milestones 1-7."""

import math

import torch
from torch import einsum, nn


def attend_to(key_padding_mask):
    """from "True = ignore this key" to "True = may attend" """
    return None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]


class AddNorm(nn.LayerNorm):
    def forward(self, x, update):
        return super().forward(x + update)


class FFN(nn.Sequential):
    def __init__(self, dim, d_ff):
        super().__init__(nn.Linear(dim, d_ff), nn.ReLU(), nn.Linear(d_ff, dim))


# Milestone 1


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = einsum("...id,...jd->...ij", query, key) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(~(mask > 0), torch.finfo(scores.dtype).min)
    weights = scores.softmax(-1)
    return einsum("...ij,...jd->...id", weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads != 0:
            raise ValueError(f"{dim} is not divisible by {heads}")
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.to_q(query), self.to_k(key), self.to_v(value)
        q, k, v = (t.unflatten(2, (self.heads, -1)).permute(0, 2, 1, 3) for t in (q, k, v))
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.to_out(out.permute(0, 2, 1, 3).flatten(2)), weights


# Milestone 2


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, d_ff):
        super().__init__()
        self.attention, self.add_norm1 = MultiHeadAttention(dim, heads), AddNorm(dim)
        self.ffn, self.add_norm2 = FFN(dim, d_ff), AddNorm(dim)

    def forward(self, x, key_padding_mask=None):
        update, _ = self.attention(x, x, x, attend_to(key_padding_mask))
        x = self.add_norm1(x, update)
        return self.add_norm2(x, self.ffn(x))


# Milestone 3


def causal_mask(size):
    return torch.tensor([[j <= i for j in range(size)] for i in range(size)])


class DecoderBlock(nn.Module):
    def __init__(self, dim, heads, d_ff):
        super().__init__()
        self.look_back, self.add_norm1 = MultiHeadAttention(dim, heads), AddNorm(dim)
        self.look_over, self.add_norm2 = MultiHeadAttention(dim, heads), AddNorm(dim)
        self.ffn, self.add_norm3 = FFN(dim, d_ff), AddNorm(dim)

    def forward(self, x, memory, memory_key_padding_mask=None):
        update, _ = self.look_back(x, x, x, causal_mask(x.size(1)))
        x = self.add_norm1(x, update)
        update, _ = self.look_over(x, memory, memory, attend_to(memory_key_padding_mask))
        x = self.add_norm2(x, update)
        return self.add_norm3(x, self.ffn(x))


# Milestone 4


def sinusoidal_positional_encoding(max_len, dim):
    positions = torch.arange(max_len, dtype=torch.float64)
    columns = []
    for i in range(dim // 2):
        angle = positions / 10000 ** (2 * i / dim)
        columns += [angle.sin(), angle.cos()]
    return torch.stack(columns, dim=1).float()


# Milestone 6


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, dim=32, heads=4, d_ff=64):
        super().__init__()
        self.cut = nn.Unfold(kernel_size=patch_size, stride=patch_size)
        self.project = nn.Linear(patch_size**2, dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.position = nn.Parameter(torch.randn((8 // patch_size) ** 2 + 1, dim) * 0.1)
        self.block = EncoderBlock(dim, heads, d_ff)
        self.head = nn.Linear(dim, n_classes)

    def forward(self, images):
        patches = self.cut(images[:, None]).transpose(1, 2)
        x = torch.cat([self.cls.expand(len(images), 1, -1), self.project(patches)], dim=1)
        x = self.block(x + self.position)
        return self.head(x[:, 0])


# Milestone 7


def mean_aggregate(features, adjacency):
    # every node hears its neighbours, and itself (once)
    a = torch.where(torch.eye(len(adjacency)).bool(), 1.0, adjacency)
    return a @ features
