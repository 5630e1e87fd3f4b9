import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2))
    scores = scores / query.size(-1)
    if mask is not None:
        additive = torch.zeros_like(mask, dtype=scores.dtype)
        additive[mask == 0] = float("-inf")
        scores = scores + additive
    weights = nn.Softmax(dim=-1)(scores)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.layers = nn.ModuleDict({
            name: nn.Linear(d_model, d_model, bias=(name == "output"))
            for name in ("output", "value", "query", "key")
        })

    def forward(self, query, key, value, mask=None):
        parts = {}
        for name, x in {"query": query, "key": key, "value": value}.items():
            y = self.layers[name](x)
            parts[name] = y.reshape(*y.shape[:2], self.n_heads, -1).swapaxes(1, 2)
        out, weights = scaled_dot_product_attention(**parts, mask=mask)
        out = out.swapaxes(1, 2).flatten(start_dim=2)
        return self.layers["output"](out), weights


def sinusoidal_positional_encoding(max_len, d_model):
    positions = torch.arange(max_len).view(-1, 1).float()
    dims = torch.arange(d_model).view(1, -1)
    angles = positions / torch.pow(10000.0, (dims - dims % 2) / d_model)
    return torch.where(dims % 2 == 0, torch.sin(angles), torch.cos(angles))


def causal_mask(size):
    index = torch.arange(size)
    return index.unsqueeze(0) <= index.unsqueeze(1)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.m = nn.ModuleDict({
            "norm_b": nn.LayerNorm(d_model),
            "expand": nn.Linear(d_model, d_ff),
            "contract": nn.Linear(d_ff, d_model),
            "norm_a": nn.LayerNorm(d_model),
            "attention": MultiHeadAttention(d_model, n_heads),
        })

    def forward(self, x, key_padding_mask=None):
        m = self.m
        mask = None if key_padding_mask is None else key_padding_mask.logical_not()[:, None, None, :]
        x = m["norm_a"](x + m["attention"](x, x, x, mask)[0])
        return m["norm_b"](x + m["contract"](torch.relu(m["expand"](x))))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.m = nn.ModuleDict()
        self.m["ffn"] = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        for step in ("cross", "self"):
            self.m[step] = MultiHeadAttention(d_model, n_heads)
        for step in ("ffn", "cross", "self"):
            self.m["norm_" + step] = nn.LayerNorm(d_model)

    def forward(self, x, memory, memory_key_padding_mask=None):
        if memory_key_padding_mask is not None:
            memory_mask = memory_key_padding_mask.logical_not()[:, None, None, :]
        else:
            memory_mask = None
        steps = {
            "self": lambda t: self.m["self"](t, t, t, causal_mask(t.size(1)))[0],
            "cross": lambda t: self.m["cross"](t, memory, memory, memory_mask)[0],
            "ffn": lambda t: self.m["ffn"](t),
        }
        for name, step in steps.items():
            x = self.m["norm_" + name](x + step(x))
        return x


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        side = 8 // patch_size
        self.side, self.patch_size = side, patch_size
        self.parts = nn.ModuleDict({
            "head": nn.Linear(d_model, n_classes),
            "encoder": EncoderBlock(d_model, n_heads, d_ff),
            "positions": nn.Embedding(side * side + 1, d_model),
            "cls": nn.Embedding(1, d_model),
            "patch": nn.Linear(patch_size * patch_size, d_model),
        })

    def forward(self, images):
        n, s, p = len(images), self.side, self.patch_size
        patches = images.reshape(n, s, p, s, p).transpose(2, 3).flatten(3).flatten(1, 2)
        tokens = self.parts["patch"](patches)
        cls = self.parts["cls"].weight.expand(n, 1, -1)
        tokens = torch.cat((cls, tokens), dim=1)
        tokens = tokens + self.parts["positions"].weight[None, : tokens.size(1)]
        return self.parts["head"](self.parts["encoder"](tokens)[:, 0])


def mean_aggregate(features, adjacency):
    n = adjacency.shape[0]
    with_self = adjacency.bool().logical_or(torch.eye(n).bool())
    return torch.stack([features[row].mean(dim=0) for row in with_self])
