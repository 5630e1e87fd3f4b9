"""Attention gives a dict {'output', 'weights'}; encoder and decoder share a base class."""
from functools import partial
import torch
from torch import nn

print("transformer review loaded")

def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.mT) / key.shape[-1] ** .5
    if mask is not None:
        logits = torch.where(mask.bool(), logits, logits.new_full((), -1e8))
    w = torch.softmax(logits, -1)
    return {"output": torch.matmul(w, value), "weights": w}

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, qkv_bias=True):
        super().__init__()
        if d_model % n_heads: raise ValueError("indivisible")
        self.n_heads = n_heads
        self.ovkq = nn.Linear(d_model, 4 * d_model, bias=qkv_bias)   # all four in one: o, v, k, q
    def forward(self, query, key, value, mask=None):
        W = self.ovkq.weight.chunk(4); b = self.ovkq.bias.chunk(4) if self.ovkq.bias is not None else [None] * 4
        def proj(x, i):
            y = nn.functional.linear(x, W[i], b[i])
            return y.view(y.shape[0], y.shape[1], self.n_heads, -1).transpose(1, 2)
        r = scaled_dot_product_attention(proj(query, 3), proj(key, 2), proj(value, 1), mask)
        y = r["output"].transpose(1, 2).flatten(-2)
        return {"output": nn.functional.linear(y, W[0], b[0]), "weights": r["weights"]}

def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.arange(max_len, dtype=torch.float64).repeat(d_model, 1).T
    pe = pe * (1e-4 ** ((torch.arange(d_model) // 2 * 2) / d_model))
    return torch.where(torch.arange(d_model) % 2 == 0, pe.sin(), pe.cos()).float()

def causal_mask(size):
    return ~torch.ones(size, size, dtype=torch.bool).triu(diagonal=1)

class Block(nn.Module):
    n_attention = 1
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.attentions = nn.ModuleList([MultiHeadAttention(d_model, n_heads) for _ in range(self.n_attention)])
        self.layer_norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(self.n_attention + 1)])
        self.fc_in, self.fc_out = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def add_and_norm(self, i, x, sub):
        return self.layer_norms[i](x + sub)
    def run(self, x, *sources):
        """sources: (keys and values or None for x itself, mask)"""
        for i, (kv, mask) in enumerate(sources):
            kv = x if kv is None else kv
            x = self.add_and_norm(i, x, self.attentions[i](x, kv, kv, mask)["output"])
        return self.add_and_norm(-1, x, self.fc_out(torch.relu(self.fc_in(x))))
    @staticmethod
    def keep(padding):
        return padding if padding is None else padding.eq(False)[:, None, None]

class EncoderBlock(Block):
    def forward(self, x, key_padding_mask=None):
        return self.run(x, (None, self.keep(key_padding_mask)))

class DecoderBlock(Block):
    n_attention = 2
    def forward(self, x, memory, memory_key_padding_mask=None):
        return self.run(x, (None, causal_mask(x.shape[1])), (memory, self.keep(memory_key_padding_mask)))

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64, image_size=8):
        super().__init__()
        n = (image_size // patch_size) ** 2
        self.unfold = nn.Unfold(patch_size, stride=patch_size)
        self.proj = nn.Linear(patch_size * patch_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model)); self.pos = nn.Parameter(torch.randn(1, n, d_model))
        self.body = EncoderBlock(d_model, n_heads, d_ff); self.top = nn.Linear(d_model, n_classes)
    def forward(self, images):
        x = self.proj(self.unfold(images[:, None]).mT) + self.pos
        x = torch.cat([self.cls.repeat(x.shape[0], 1, 1), x], 1)
        return self.top(self.body(x)[:, 0])

def mean_aggregate(features, adjacency):
    rows = []
    for i in range(adjacency.shape[0]):
        ids = {i} | set(torch.nonzero(adjacency[i]).flatten().tolist())
        rows.append(features[sorted(ids)].mean(0))
    return torch.stack(rows)
