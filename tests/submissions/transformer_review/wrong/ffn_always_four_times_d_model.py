import math
from typing import Optional, Tuple

import torch
import torch.nn as nn
from torch import Tensor


@torch.jit.script
def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
                                 mask: Optional[Tensor] = None) -> Tuple[Tensor, Tensor]:
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(float(query.size(-1)))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = torch.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


@torch.jit.script
def causal_mask(size: int) -> Tensor:
    return torch.tril(torch.ones([size, size], dtype=torch.bool))


@torch.jit.script
def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    position = torch.arange(max_len, dtype=torch.float64).unsqueeze(1)
    frequency = torch.exp(torch.arange(0, d_model, 2, dtype=torch.float64) * (-math.log(10000.0) / d_model))
    pe = torch.zeros([max_len, d_model])
    pe[:, 0::2] = torch.sin(position * frequency).float()
    pe[:, 1::2] = torch.cos(position * frequency).float()
    return pe


@torch.no_grad()
def mean_aggregate(features: Tensor, adjacency: Tensor) -> Tensor:
    sparse = (adjacency.bool() | torch.eye(adjacency.size(0), dtype=torch.bool)).float().to_sparse()
    degree = torch.sparse.sum(sparse, dim=1).to_dense().unsqueeze(1)
    return torch.sparse.mm(sparse, features) / degree


# the decorator above would stop gradients: the layer itself is the wrapped function
mean_aggregate = mean_aggregate.__wrapped__


class MultiHeadAttention(nn.Module):
    __constants__ = ["n_heads"]

    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads must be 0")
        self.n_heads = n_heads
        self.kv = nn.Linear(d_model, 2 * d_model, bias=False)
        self.q = nn.Linear(d_model, d_model, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def _heads(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), self.n_heads, -1).transpose(1, 2)

    def forward(self, query: Tensor, key: Tensor, value: Tensor, mask: Optional[Tensor] = None):
        w_k, w_v = self.kv.weight.split(query.size(-1))
        q = self._heads(self.q(query))
        k = self._heads(torch.matmul(key, w_k.t()))
        v = self._heads(torch.matmul(value, w_v.t()))
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.o(out.transpose(1, 2).flatten(2)), w


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.up = nn.Linear(d_model, 4 * d_model)
        self.down = nn.Linear(4 * d_model, d_model)
        self.norm_attn = nn.LayerNorm(d_model, eps=1e-6)
        self.norm_ffn = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, x: Tensor, key_padding_mask: Optional[Tensor] = None) -> Tensor:
        allowed = None if key_padding_mask is None else ~key_padding_mask[:, None, None, :]
        x = self.norm_attn(x + self.attn(x, x, x, allowed)[0])
        return self.norm_ffn(x + self.down(self.up(x).clamp_min(0)))


class DecoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int) -> None:
        super().__init__()
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.xattn = MultiHeadAttention(d_model, n_heads)
        self.norm_attn = nn.LayerNorm(d_model, eps=1e-6)
        self.norm_xattn = nn.LayerNorm(d_model, eps=1e-6)
        self.norm_ffn = nn.LayerNorm(d_model, eps=1e-6)

    def forward(self, x: Tensor, memory: Tensor, memory_key_padding_mask: Optional[Tensor] = None) -> Tensor:
        x = self.norm_attn(x + self.attn(x, x, x, causal_mask(x.size(1)))[0])
        allowed = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None, :]
        x = self.norm_xattn(x + self.xattn(x, memory, memory, allowed)[0])
        return self.norm_ffn(x + self.down(self.up(x).clamp_min(0)))


class PixelBERT(nn.Module):
    def __init__(self, n_classes: int = 10, patch_size: int = 2, d_model: int = 32, n_heads: int = 4, d_ff: int = 64):
        super().__init__()
        n = (8 // patch_size) ** 2
        self.patch = nn.Conv2d(1, d_model, patch_size, stride=patch_size)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        self.pos = nn.Parameter(torch.randn(1, n + 1, d_model))
        self.register_buffer("ids", torch.arange(n + 1), persistent=False)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)
        nn.init.zeros_(self.head.bias)

    def forward(self, images: Tensor) -> Tensor:
        x = self.patch(images[:, None, :, :]).flatten(2).permute(0, 2, 1)
        x = torch.cat((self.cls.expand(x.size(0), 1, x.size(2)), x), 1) + self.pos[:, self.ids]
        return self.head(self.block(x).select(1, 0))
