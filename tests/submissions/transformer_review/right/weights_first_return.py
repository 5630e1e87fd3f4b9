"""Everything returns (weights, output), weights first, because I print them first."""
import torch
from torch import nn
import torch.nn.functional as F

def scaled_dot_product_attention(q, k, v, attn_mask=None):
    """-> (weights, output)"""
    logits = torch.einsum("...qd,...kd->...qk", q, k) * k.shape[-1] ** -0.5
    if attn_mask is not None:
        logits = logits.masked_fill(attn_mask.bool().logical_not(), float("-inf"))
    weights = F.softmax(logits, dim=-1)
    return weights, torch.einsum("...qk,...kd->...qd", weights, v)

class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        assert dim % heads == 0
        self.heads = heads
        self.qkv = nn.Parameter(torch.randn(dim, 3 * dim) / dim ** 0.5)
        self.out = nn.Parameter(torch.randn(dim, dim) / dim ** 0.5)
    def forward(self, q, k, v, attn_mask=None):
        wq, wk, wv = self.qkv.chunk(3, dim=1)
        f = lambda x, w: (x @ w).reshape(*x.shape[:2], self.heads, -1).permute(0, 2, 1, 3)
        weights, y = scaled_dot_product_attention(f(q, wq), f(k, wk), f(v, wv), attn_mask)
        return weights, y.permute(0, 2, 1, 3).reshape(q.shape) @ self.out

def sinusoidal_positional_encoding(max_len, d_model):
    i = torch.arange(0, d_model, 2)
    a = torch.arange(max_len).unsqueeze(1) / 10000 ** (i / d_model)
    return torch.stack((a.sin(), a.cos()), -1).flatten(1)

def causal_mask(size):
    i = torch.arange(size)
    return i[:, None] >= i[None, :]

class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.a, self.b = nn.Linear(dim, hidden), nn.Linear(hidden, dim)
    def forward(self, x): return self.b(F.relu(self.a(x)))

class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.mha, self.ff = MultiHeadAttention(dim, heads), FeedForward(dim, hidden)
        self.ln1, self.ln2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
    def forward(self, x, key_padding_mask=None):
        keep = None if key_padding_mask is None else ~key_padding_mask[:, None, None]
        _, a = self.mha(x, x, x, keep)
        x = self.ln1(x + a)
        return self.ln2(x + self.ff(x))

class DecoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.cross, self.selfattn, self.ff = MultiHeadAttention(dim, heads), MultiHeadAttention(dim, heads), FeedForward(dim, hidden)
        self.ln3, self.ln2, self.ln1 = (nn.LayerNorm(dim) for _ in range(3))
    def forward(self, x, memory, memory_key_padding_mask=None):
        _, a = self.selfattn(x, x, x, causal_mask(x.shape[1]))
        x = self.ln1(x + a)
        keep = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None]
        _, c = self.cross(x, memory, memory, keep)
        x = self.ln2(x + c)
        return self.ln3(x + self.ff(x))

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(d_model) * .02)
        self.pos = nn.Embedding((8 // patch_size) ** 2 + 1, d_model)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.fc = nn.Linear(d_model, n_classes)
    def forward(self, images):
        p, n = self.p, 8 // self.p
        x = images.reshape(-1, n, p, n, p).transpose(2, 3).reshape(len(images), n * n, p * p)
        x = torch.cat([self.cls.expand(len(x), 1, -1), self.embed(x)], dim=1)
        return self.fc(self.encoder(x + self.pos.weight)[:, 0])

def mean_aggregate(features, adjacency):
    adj = adjacency.float().clone()
    adj.fill_diagonal_(1)
    return F.normalize(adj, p=1, dim=1) @ features
