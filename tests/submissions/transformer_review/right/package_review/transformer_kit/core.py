import math
import torch
from torch import nn
from . import base


def scaled_dot_product_attention(query, key, value, mask=None, *, eps_fill=-1e6):
    s = torch.matmul(query, key.transpose(-1, -2) / math.sqrt(key.shape[-1]))
    if mask is not None:
        s = s.masked_fill(mask.to(torch.bool).logical_not(), eps_fill)
    w = nn.Softmax(-1)(s)
    return w @ value, w


class MultiHeadAttention(base.GenericAttention):
    def kernel(self, q, k, v, mask):
        return scaled_dot_product_attention(q, k, v, mask)


def sinusoidal_positional_encoding(max_len, d_model):
    columns = []
    pos = torch.arange(max_len, dtype=torch.float64)
    for i in range(0, d_model, 2):
        columns.extend([torch.sin(pos * 10000 ** (-i / d_model)), torch.cos(pos * 10000 ** (-i / d_model))])
    return torch.stack(columns, dim=1).float()


def causal_mask(size):
    return torch.ones(size, size).cumsum(0).ge(torch.arange(1, size + 1))


class _Block(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, attentions):
        super().__init__()
        for i in range(attentions):
            self.add_module(f"attention{i}", MultiHeadAttention(d_model, n_heads))
            self.add_module(f"attention{i}_norm", nn.LayerNorm(d_model))
        self.up, self.down, self.ffn_norm = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model), nn.LayerNorm(d_model)

    def attend(self, i, x, kv, mask):
        y, _ = self.get_submodule(f"attention{i}")(x, kv, kv, mask)
        return base.add_norm(self.get_submodule(f"attention{i}_norm"), x, y)

    def finish(self, x):
        return base.add_norm(self.ffn_norm, x, self.down(self.up(x).relu()))


def visible(padding):
    return None if padding is None else torch.logical_not(padding)[:, None, None, :]


class EncoderBlock(_Block):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__(d_model, n_heads, d_ff, 1)

    def forward(self, x, key_padding_mask=None):
        return self.finish(self.attend(0, x, x, visible(key_padding_mask)))


class DecoderBlock(_Block):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__(d_model, n_heads, d_ff, 2)

    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.attend(0, x, x, causal_mask(x.shape[1]))
        return self.finish(self.attend(1, x, memory, visible(memory_key_padding_mask)))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        side = 8 // patch_size
        # pixel (r, c) belongs to patch (r // p, c // p): an index table, row by row
        r, c = torch.meshgrid(torch.arange(8), torch.arange(8), indexing="ij")
        patch = (r // patch_size) * side + c // patch_size
        self.register_buffer("order", torch.argsort(patch.flatten(), stable=True))
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        self.where = nn.Parameter(torch.randn(1, side * side + 1, d_model))
        self.block, self.decide = EncoderBlock(d_model, n_heads, d_ff), nn.Linear(d_model, n_classes)
        self.n, self.p2 = side * side, patch_size ** 2

    def forward(self, images):
        x = images.flatten(1)[:, self.order].view(-1, self.n, self.p2)
        x = torch.cat([self.cls.expand(len(x), -1, -1), self.embed(x)], 1) + self.where
        return self.decide(self.block(x)[:, 0])


def mean_aggregate(features, adjacency):
    n = adjacency.size(0)
    a = adjacency.to(features.dtype).clamp(max=1)
    own = features * (1 - a.diagonal())[:, None]          # the self-loop, when it is not yet there
    return (a @ features + own) / (a.sum(1) + 1 - a.diagonal()).view(n, 1)
