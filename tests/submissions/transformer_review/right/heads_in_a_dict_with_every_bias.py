"""ParameterDict, per-head weights, biases everywhere; learned positions; mean pooling; sets for the graph"""
import torch
from torch import nn
P = nn.Parameter

class _Att:
    def __call__(self, query, key, value, mask=None):
        e = torch.einsum('...qd,...kd->...qk', query * query.shape[-1] ** -.5, key)
        if mask is not None:
            e = e + (1. - mask.to(e.dtype)) * -1e6
        e = torch.exp(e - e.amax(-1, keepdim=True))
        e = e / e.sum(-1, keepdim=True)
        return torch.einsum('...qk,...kd->...qd', e, value), e
scaled_dot_product_attention = _Att()
causal_mask = lambda n: ~torch.ones(n, n, dtype=torch.bool).triu(1)

def sinusoidal_positional_encoding(max_len, d_model):
    return torch.stack([(torch.cos if c % 2 else torch.sin)(torch.arange(max_len).double() * 1e4 ** (-(c - c % 2) / d_model))
                        for c in range(d_model)], dim=-1).to(torch.float32)

class MultiHeadAttention(nn.ModuleDict):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        assert embed_dim % num_heads == 0
        d = embed_dim // num_heads
        for i in range(num_heads):
            self[f"head_{i}"] = nn.ModuleDict({n: nn.Linear(embed_dim, d) for n in "qkv"})
        self["mix"] = nn.Linear(embed_dim, embed_dim)
    def forward(self, q, k, v, attn_mask=None, verbose=False):
        if attn_mask is not None and attn_mask.dim() == 4: attn_mask = attn_mask[:, 0]
        o = [scaled_dot_product_attention(h["q"](q), h["k"](k), h["v"](v), attn_mask) for n, h in self.items() if n != "mix"]
        return self["mix"](torch.cat([a for a, _ in o], 2)), torch.stack([w for _, w in o], 1)

class _Sub(nn.Module):
    """residual and norm around a function"""
    def __init__(self, d):
        super().__init__()
        self.p = nn.ParameterDict({"gamma": torch.ones(d), "beta": torch.zeros(d)})
    def forward(self, x, f):
        y = x + f(x)
        return nn.functional.layer_norm(y, y.shape[-1:], self.p["gamma"], self.p["beta"], 1e-12)

def _ff(d, f): return nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d))

class _Block(nn.Module):
    def __init__(self, d, h, f, n):
        super().__init__()
        self.atts = nn.ModuleList([MultiHeadAttention(d, h) for _ in range(n)])
        self.subs = nn.ModuleList([_Sub(d) for _ in range(n + 1)])
        self.ff = _ff(d, f)
    def run(self, x, pairs):
        for att, sub, (mem, m) in zip(self.atts, self.subs, pairs):
            def f(z):
                kv = z if mem is None else mem
                return att(z, kv, kv, m)[0]
            x = sub(x, f)
        return self.subs[-1](x, self.ff)

class EncoderBlock(_Block):
    def __init__(self, dim, h, hidden, p=0.0):
        super().__init__(dim, h, hidden, 1)
    def forward(self, x, key_padding_mask=None):
        m = None if key_padding_mask is None else 1 - key_padding_mask.long()[:, None, None, :]
        return self.run(x, [(None, m)])

class DecoderBlock(_Block):
    def __init__(self, dim, h, hidden, p=0.0):
        super().__init__(dim, h, hidden, 2)
    def forward(self, x, memory, memory_key_padding_mask=None):
        m = None if memory_key_padding_mask is None else 1 - memory_key_padding_mask.long()[:, None, None, :]
        return self.run(x, [(None, causal_mask(x.shape[1])), (memory, m)]), None

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.k = patch_size; n = 8 // patch_size
        self.conv = nn.Conv2d(1, d_model, patch_size, patch_size)
        self.row = P(torch.randn(n, 1, d_model) * .1); self.col = P(torch.randn(1, n, d_model) * .1)
        self.cls = nn.Embedding(1, d_model)
        self.enc = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)
    def forward(self, images):
        x = self.conv(images.unsqueeze(1)).permute(0, 2, 3, 1) + self.row + self.col
        x = torch.cat([self.cls.weight.expand(len(x), 1, -1), x.flatten(1, 2)], 1)
        return self.head(self.enc(x)[:, 0])

def mean_aggregate(features, adjacency):
    return torch.stack([features[sorted({i} | set(adjacency[i].nonzero().flatten().tolist()))].mean(0) for i in range(len(features))])
