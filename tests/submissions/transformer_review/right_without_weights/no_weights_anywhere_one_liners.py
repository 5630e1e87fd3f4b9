# exam speed: as short as I can. Outputs only, no weights returned.
import torch, torch.nn as nn
from math import sqrt

def scaled_dot_product_attention(q, k, v, mask=None):
    s = q @ k.mT / sqrt(q.size(-1))
    return (s if mask is None else s.masked_fill(mask == 0, -1e9)).softmax(-1) @ v

class MultiHeadAttention(nn.Module):
    def __init__(self, d, h):
        super().__init__(); assert d % h == 0; self.h = h
        self.Wq, self.Wk, self.Wv, self.Wo = (nn.Linear(d, d, bias=False) for _ in range(4))
    def forward(self, q, k, v, mask=None):
        s = lambda x: x.view(x.size(0), x.size(1), self.h, -1).transpose(1, 2)
        return self.Wo(scaled_dot_product_attention(s(self.Wq(q)), s(self.Wk(k)), s(self.Wv(v)), mask).transpose(1, 2).flatten(2))

def sinusoidal_positional_encoding(n, d):
    a = torch.arange(n)[:, None] / 1e4 ** (torch.arange(d // 2) * 2 / d)
    return torch.stack((a.sin(), a.cos()), 2).flatten(1)

def causal_mask(n): return torch.tril(torch.ones(n, n, dtype=torch.bool))
def keep(pad): return None if pad is None else ~pad[:, None, None]

class EncoderBlock(nn.Module):
    def __init__(self, d, h, f):
        super().__init__(); self.att, self.n1, self.n2 = MultiHeadAttention(d, h), nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d))
    def forward(self, x, key_padding_mask=None):
        x = self.n1(x + self.att(x, x, x, keep(key_padding_mask))); return self.n2(x + self.ff(x))

class DecoderBlock(nn.Module):
    def __init__(self, d, h, f):
        super().__init__(); self.att, self.xat = MultiHeadAttention(d, h), MultiHeadAttention(d, h)
        self.n1, self.n2, self.n3 = nn.LayerNorm(d), nn.LayerNorm(d), nn.LayerNorm(d)
        self.ff = nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d))
    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.n1(x + self.att(x, x, x, causal_mask(x.size(1))))
        x = self.n2(x + self.xat(x, memory, memory, keep(memory_key_padding_mask))); return self.n3(x + self.ff(x))

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__(); p = self.p = patch_size
        self.e, self.c, self.o = nn.Linear(p * p, d_model), nn.Parameter(torch.zeros(1, 1, d_model)), nn.Linear(d_model, n_classes)
        self.pos, self.b = nn.Parameter(torch.randn(1, (8 // p) ** 2 + 1, d_model) * .02), EncoderBlock(d_model, n_heads, d_ff)
    def forward(self, im):
        x = im.view(-1, 8 // self.p, self.p, 8 // self.p, self.p).permute(0, 1, 3, 2, 4).reshape(len(im), -1, self.p ** 2)
        return self.o(self.b(torch.cat((self.c.expand(len(im), 1, -1), self.e(x)), 1) + self.pos)[:, 0])

def mean_aggregate(x, a):
    a = ((a != 0) | torch.eye(len(a)).bool()).float(); return a / a.sum(1, True) @ x
