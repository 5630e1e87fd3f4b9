import torch, torch.nn as nn, torch.nn.functional as F, math
class Lin(nn.Linear):
    def __init__(s, i, o): super().__init__(i, o, bias=False)
def scaled_dot_product_attention(q, k, v, m=None):
    a = q @ k.mT / math.sqrt(q.shape[-1])
    if m is not None: a = a.masked_fill(m == 0, -1e18)
    return (a := a.softmax(-1)) @ v, a
class MultiHeadAttention(nn.Module):
    def __init__(s, d, h):
        super().__init__(); s.h = h; s.q, s.k, s.v, s.o = Lin(d, d), Lin(d, d), Lin(d, d), Lin(d, d)
        assert d % h == 0
    def f(s, x): B, T, D = x.shape; return x.view(B, T, s.h, D // s.h).transpose(1, 2)
    def forward(s, q, k, v, m=None):
        y, a = scaled_dot_product_attention(s.f(s.q(q)), s.f(s.k(k)), s.f(s.v(v)), m)
        return s.o(y.transpose(1, 2).reshape(q.shape)), a
def sinusoidal_positional_encoding(n, d):
    a = torch.arange(n)[:, None] / 1e4 ** (torch.arange(0, d, 2)[None] / d)
    return torch.stack([a.sin(), a.cos()], -1).flatten(1)
def causal_mask(n): return torch.tril(torch.ones(n, n)).bool()
class EncoderBlock(nn.Module):
    def __init__(s, d, h, f):
        super().__init__(); s.a = MultiHeadAttention(d, h); s.n = nn.LayerNorm(d); s.m = nn.LayerNorm(d)
        s.f = nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d))
    def forward(s, x, p=None):
        x = s.n(x + s.a(x, x, x, None if p is None else ~p[:, None, None])[0]); return s.m(x + s.f(x))
class DecoderBlock(nn.Module):
    def __init__(s, d, h, f):
        super().__init__(); s.a, s.c = MultiHeadAttention(d, h), MultiHeadAttention(d, h)
        s.n, s.l, s.m = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        s.f = nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d))
    def forward(s, x, e, p=None):
        x = s.n(x + s.a(x, x, x, causal_mask(x.shape[1]))[0])
        x = s.l(x + s.c(x, e, e, None if p is None else ~p[:, None, None])[0])
        return s.m(x + s.f(x))
class PixelBERT(nn.Module):
    def __init__(s, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__(); s.p = nn.Conv2d(1, d_model, patch_size, patch_size)
        s.cls, s.pos = (nn.Parameter(torch.randn(1, n, d_model) * .02) for n in (1, (8 // patch_size) ** 2 + 1))
        s.e, s.h = EncoderBlock(d_model, n_heads, d_ff), nn.Linear(d_model, n_classes)
    def forward(s, x):
        x = s.p(x[:, None]).flatten(2).mT
        return s.h(s.e(torch.cat([s.cls.expand(len(x), -1, -1), x], 1) + s.pos)[:, 0])
def mean_aggregate(x, a):
    a = (a.bool() | torch.eye(len(a)).bool()).float(); return a @ x / a.sum(1, keepdim=True)
