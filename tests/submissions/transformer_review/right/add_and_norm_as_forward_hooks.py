"""Post-norm by a forward hook: every sublayer is registered with a hook that adds and normalises."""
import math, torch
from torch import nn

def scaled_dot_product_attention(query, key, value, mask=None):
    s = torch.einsum("...qd,...kd->...qk", query, key) / math.sqrt(query.size(-1))
    if mask is not None:
        s.masked_fill_(mask.logical_not(), -1e9)
    s = s.softmax(-1)
    return torch.einsum("...qk,...kd->...qd", s, value), s

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, dropout=0.1):
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{d_model} / {n_heads}")
        self.h = n_heads
        self.inp = nn.ModuleList([nn.Linear(d_model, d_model, bias=False) for _ in "vqk"])
        self.outp = nn.Linear(d_model, d_model, bias=False)
        self.dropout = nn.Dropout(dropout)
    def forward(self, q, k, v, mask=None):
        b = q.size(0)
        V, Q, K = [l(x).view(b, -1, self.h, l.out_features // self.h).transpose(1, 2) for l, x in zip(self.inp, (v, q, k))]
        y, a = scaled_dot_product_attention(Q, K, V, mask)
        return self.dropout(self.outp(y.transpose(1, 2).contiguous().view(b, -1, self.outp.in_features))), a

def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len).view(-1, 1, 1)
    f = (10000 ** (-torch.arange(0, d_model, 2) / d_model)).view(1, -1, 1)
    return torch.sin(pos * f + torch.tensor([0, math.pi / 2])).flatten(1)

def causal_mask(size):
    return torch.arange(size).unsqueeze(0).le(torch.arange(size).unsqueeze(1))

def add_and_norm(module, norm):
    """-> module whose output becomes norm(first input + output)"""
    def hook(mod, args, out):
        y = out[0] if isinstance(out, tuple) else out
        return norm(args[0] + y)
    module.register_forward_hook(hook)
    return module

def ffn(d, f):
    return nn.Sequential(nn.Linear(d, f), nn.ReLU(), nn.Linear(f, d))

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm = nn.ModuleDict({"a": nn.LayerNorm(d_model), "b": nn.LayerNorm(d_model)})
        self.a = add_and_norm(MultiHeadAttention(d_model, n_heads), self.norm["a"])
        self.b = add_and_norm(ffn(d_model, d_ff), self.norm["b"])
    def forward(self, x, key_padding_mask=None):
        return self.b(self.a(x, x, x, key_padding_mask if key_padding_mask is None else ~key_padding_mask[:, None, None, :]))

class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.norm = nn.ModuleDict({k: nn.LayerNorm(d_model) for k in "xyz"})
        self.look_back = add_and_norm(MultiHeadAttention(d_model, n_heads), self.norm["z"])
        self.look_there = add_and_norm(MultiHeadAttention(d_model, n_heads), self.norm["y"])
        self.think = add_and_norm(ffn(d_model, d_ff), self.norm["x"])
    def forward(self, x, memory, memory_key_padding_mask=None):
        m = memory_key_padding_mask
        x = self.look_back(x, x, x, causal_mask(x.size(1)))
        x = self.look_there(x, memory, memory, None if m is None else ~m[:, None, None, :])
        return self.think(x)

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        p = patch_size
        self.patches = nn.Sequential(nn.Unflatten(1, (1, 8)), nn.Conv2d(1, d_model, p, p), nn.Flatten(2))
        self.cls = nn.Parameter(torch.randn(1, d_model, 1) * 0.02)
        self.pos = nn.Parameter(torch.randn(1, d_model, (8 // p) ** 2 + 1) * 0.02)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.fc = nn.Linear(d_model, n_classes)
    def forward(self, images):
        x = torch.cat([self.cls.expand(images.size(0), -1, -1), self.patches(images)], 2) + self.pos
        return self.fc(self.block(x.transpose(1, 2)).select(1, 0))

def mean_aggregate(features, adjacency):
    adj = adjacency.detach().clone().to(features.dtype)
    idx = torch.arange(adj.size(0))
    adj[idx, idx] = 1.0
    degree = torch.sum(adj, dim=1)
    return torch.mm(adj, features) / degree.unsqueeze(1)

def _demo():
    # comparison only: the forbidden layer
    ref = nn.MultiheadAttention(32, 4, batch_first=True)
    print(ref(torch.randn(1, 3, 32), torch.randn(1, 3, 32), torch.randn(1, 3, 32))[0].shape)

if __name__ == "__main__":
    _demo()
