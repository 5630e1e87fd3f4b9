"""Online softmax: keys are visited in blocks and the output is rescaled as a larger score appears."""
import math
import torch
from torch import nn


def scaled_dot_product_attention(query, key, value, mask=None, block=8):
    T_k = key.shape[-2]
    out = query.new_zeros(*query.shape[:-1], value.shape[-1])
    top = query.new_full((*query.shape[:-1], 1), -1e30)
    total = torch.zeros_like(top)
    pieces = []
    for start in range(0, T_k, block):
        s = query @ key[..., start:start + block, :].mT / math.sqrt(query.shape[-1])
        if mask is not None:
            s = s.masked_fill(mask[..., start:start + block] == 0, float("-inf"))
        pieces.append(s)
        new_top = torch.maximum(top, s.amax(-1, keepdim=True))
        p = torch.exp(s - new_top)
        shrink = torch.exp(top - new_top)
        total = total * shrink + p.sum(-1, keepdim=True)
        out = out * shrink + p @ value[..., start:start + block, :]
        top = new_top
    weights = torch.exp(torch.cat(pieces, dim=-1) - top) / total
    return out / total, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError
        self.n_heads = n_heads
        self.linears = nn.ModuleDict(dict(o=nn.Linear(d_model, d_model, bias=False)))
        for name in "vkq":
            self.linears[name] = nn.Linear(d_model, d_model, bias=name == "v")

    def forward(self, query, key, value, mask=None):
        q, k, v = (
            self.linears[n](x).unflatten(-1, (self.n_heads, -1)).transpose(-2, -3)
            for n, x in zip("qkv", (query, key, value))
        )
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.linears["o"](out.transpose(-2, -3).flatten(-2)), weights


def sinusoidal_positional_encoding(max_len, d_model):
    position = torch.arange(max_len).to(torch.float64)
    pe = torch.empty(max_len, d_model // 2, 2)
    for i in range(d_model // 2):
        pe[:, i, 0] = torch.sin(position * math.exp(-2 * i * math.log(1e4) / d_model))
        pe[:, i, 1] = torch.cos(position * math.exp(-2 * i * math.log(1e4) / d_model))
    return pe.reshape(max_len, d_model)


def causal_mask(size):
    return torch.tensor([[1] * (i + 1) + [0] * (size - i - 1) for i in range(size)], dtype=torch.bool)


class ResidualNorm(nn.LayerNorm):
    def forward(self, x, update):
        return super().forward(x + update)


class PositionWise(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.rise, self.fall = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.fall(nn.functional.threshold(self.rise(x), 0.0, 0.0))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm_f, self.norm_a = ResidualNorm(d_model), ResidualNorm(d_model)
        self.f = PositionWise(d_model, d_ff)
        self.a = MultiHeadAttention(d_model, n_heads)

    def forward(self, x, key_padding_mask=None):
        allowed = None
        if key_padding_mask is not None:
            allowed = torch.bitwise_not(key_padding_mask).reshape(x.shape[0], 1, 1, x.shape[1])
        x = self.norm_a(x, self.a(x, x, x, allowed)[0])
        return self.norm_f(x, self.f(x))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm_f, self.norm_c, self.norm_a = (ResidualNorm(d_model) for _ in range(3))
        self.f = PositionWise(d_model, d_ff)
        self.c = MultiHeadAttention(d_model, n_heads)
        self.a = MultiHeadAttention(d_model, n_heads)

    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.norm_a(x, self.a(x, x, x, causal_mask(x.shape[1]))[0])
        allowed = None
        if memory_key_padding_mask is not None:
            allowed = torch.bitwise_not(memory_key_padding_mask).reshape(x.shape[0], 1, 1, memory.shape[1])
        x = self.norm_c(x, self.c(x, memory, memory, allowed)[0])
        return self.norm_f(x, self.f(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        grid = 8 // patch_size
        self.embed = nn.Conv2d(1, d_model, patch_size, stride=patch_size)
        self.register_parameter("cls", nn.Parameter(torch.randn(d_model) / math.sqrt(d_model)))
        self.register_parameter("pos", nn.Parameter(torch.randn(grid ** 2 + 1, d_model) / math.sqrt(d_model)))
        self.register_module("block", EncoderBlock(d_model, n_heads, d_ff))
        self.register_module("head", nn.Linear(d_model, n_classes))

    def forward(self, images):
        x = self.embed(images[:, None]).flatten(2).mT
        x = torch.cat([self.cls.tile(x.shape[0], 1, 1), x], 1).add(self.pos)
        return self.head(self.block(x).index_select(1, torch.tensor([0])).squeeze(1))


def mean_aggregate(features, adjacency):
    adjacency = adjacency.bool()
    identity = torch.eye(adjacency.shape[0]).bool()
    hat = torch.where(identity, True, adjacency)
    return torch.nn.functional.softmax(torch.log(hat.float()), dim=1) @ features
