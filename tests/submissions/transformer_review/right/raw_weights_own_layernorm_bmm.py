# 手作りの Transformer: nn.Linear も nn.LayerNorm も使わない
import math, torch
from torch.nn import Parameter as P, Module

def scaled_dot_product_attention(query, key, value, mask=None):
    lead = query.shape[:-2]
    q, k, v = [t.flatten(0, -3) if t.dim() > 3 else t for t in (query, key, value)]
    if q.dim() == 2: q, k, v = q[None], k[None], v[None]
    s = torch.bmm(q, k.transpose(1, 2)).reshape(*lead, query.shape[-2], key.shape[-2]) / math.sqrt(q.shape[-1])
    if mask is not None:
        s = s.masked_fill(mask.logical_not(), -3e4)
    e = (s - s.max(-1, keepdim=True).values).exp()
    w = e / e.sum(-1, keepdim=True)
    o = torch.bmm(w.reshape(-1, *w.shape[-2:]), v)
    return o.reshape(*lead, *o.shape[-2:]), w

def lin(i, o): return P((torch.rand(i, o) * 2 - 1) / math.sqrt(i))

class MultiHeadAttention(Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads: raise ValueError(n_heads)
        self.h = n_heads
        self.A, self.B, self.C, self.D = (lin(d_model, d_model) for _ in range(4))   # K, V, O, Q
    def forward(self, query, key, value, mask=None):
        sp = lambda x: torch.stack(x.chunk(self.h, -1), 1)
        o, w = scaled_dot_product_attention(sp(query @ self.D), sp(key @ self.A), sp(value @ self.B), mask)
        return torch.cat(tuple(o.unbind(1)), -1) @ self.C, w

def sinusoidal_positional_encoding(max_len, d_model):
    f = lambda p, i: (math.cos if i & 1 else math.sin)(p * 10000.0 ** (-(i & ~1) / d_model))
    return torch.tensor([f(p, i) for p in range(max_len) for i in range(d_model)]).view(max_len, d_model)

def causal_mask(size):
    return torch.tensor([[j <= i for j in range(size)] for i in range(size)])

class Norm(Module):
    def __init__(self, n):
        super().__init__(); self.g, self.b = P(torch.ones(n)), P(torch.zeros(n))
    def forward(self, x):
        v, m = torch.var_mean(x, -1, correction=0, keepdim=True)
        return (x - m) * (v + 1e-8).rsqrt() * self.g + self.b

class FFN(Module):
    def __init__(self, d, f):
        super().__init__(); self.w1, self.c1, self.w2, self.c2 = lin(d, f), P(torch.zeros(f)), lin(f, d), P(torch.zeros(d))
    def forward(self, x):
        h = torch.addmm(self.c1, x.flatten(0, 1), self.w1)
        return torch.addmm(self.c2, h * (h > 0), self.w2).view_as(x)

class EncoderBlock(Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.f, self.n2, self.n1, self.a = FFN(d_model, d_ff), Norm(d_model), Norm(d_model), MultiHeadAttention(d_model, n_heads)
    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else 1 - key_padding_mask.to(torch.int)[:, None, None, :]
        y, _ = self.a(x, x, x, m)
        y = self.n1(y + x)
        return self.n2(self.f(y) + y)

class DecoderBlock(Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.f = FFN(d_model, d_ff)
        self.n3, self.n1, self.n2 = Norm(d_model), Norm(d_model), Norm(d_model)
        self.x, self.s = MultiHeadAttention(d_model, n_heads), MultiHeadAttention(d_model, n_heads)
    def forward(self, x, memory, memory_key_padding_mask=None):
        y = self.n1(x + self.s(x, x, x, causal_mask(x.shape[1]).int())[0])
        m = None if memory_key_padding_mask is None else 1 - memory_key_padding_mask.to(torch.int)[:, None, None, :]
        y = self.n2(y + self.x(y, memory, memory, m)[0])
        return self.n3(y + self.f(y))

class PixelBERT(Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p, n = patch_size, 8 // patch_size
        self.we, self.be = lin(patch_size ** 2, d_model), P(torch.zeros(d_model))
        self.cls, self.pos = P(torch.randn(1, d_model)), P(torch.randn(n * n + 1, d_model) * .1)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.wc, self.bc = lin(d_model, n_classes), P(torch.zeros(n_classes))
    def forward(self, images):
        p = self.p
        parts = [images[:, r:r + p, c:c + p].reshape(len(images), -1) for c in range(0, 8, p) for r in range(0, 8, p)]
        x = torch.stack(parts, 1) @ self.we + self.be
        x = torch.cat([self.cls.expand(len(images), 1, self.cls.shape[1]), x], 1) + self.pos
        return self.block(x)[:, 0] @ self.wc + self.bc

def mean_aggregate(features, adjacency):
    a = adjacency.bool() | torch.eye(adjacency.shape[0], dtype=torch.bool)
    return torch.stack([features[row].mean(dim=0) for row in a])
