"""torch.vmap over the heads; the decoder contains an encoder-like part; config in a dataclass."""
from dataclasses import dataclass, field
import torch
from torch import nn, vmap

@dataclass
class Out:
    output: torch.Tensor
    weights: torch.Tensor = field(repr=False, default=None)
    def __iter__(self):
        yield self.output
        yield self.weights

def scaled_dot_product_attention(query, key, value, mask=None):
    s = (query @ key.transpose(-2, -1)) * query.shape[-1] ** -0.5
    if mask is not None:
        s = torch.where(mask.to(torch.bool), s, torch.tensor(float("-inf")))
    w = nn.functional.softmax(s, -1)
    return Out(w @ value, w)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        k = d_model // n_heads
        self.w = nn.ParameterDict({n: nn.Parameter(torch.randn(n_heads, d_model, k) * d_model ** -.5) for n in ("k", "v", "q")})
        self.wo = nn.Parameter(torch.randn(n_heads, k, d_model) * d_model ** -.5)
    def forward(self, query, key, value, mask=None):
        if mask is None:
            mask = torch.ones(query.shape[1], key.shape[1], dtype=torch.bool)
        m = mask.bool().expand(query.shape[0], 1, query.shape[1], key.shape[1])[:, 0]
        def head(wq, wk, wv, wo):
            a = torch.softmax(((query @ wq) @ (key @ wk).mT * wq.shape[1] ** -0.5).masked_fill(~m, -1e9), -1)
            return a @ (value @ wv) @ wo, a
        parts, weights = vmap(head)(self.w["q"], self.w["k"], self.w["v"], self.wo)
        return Out(parts.sum(0), weights.transpose(0, 1))

def sinusoidal_positional_encoding(max_len, d_model):
    def entry(p, i):
        a = p / 10000 ** ((i - i % 2) / d_model)
        return torch.where(i % 2 == 0, torch.sin(a), torch.cos(a))
    return vmap(vmap(entry, (None, 0)), (0, None))(torch.arange(max_len).double(), torch.arange(d_model).double()).float()

def causal_mask(size):
    return torch.cumsum(torch.eye(size), 1).T.bool()

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.att, self.att_norm = MultiHeadAttention(d_model, n_heads), nn.LayerNorm(d_model)
        self.ffn, self.ffn_norm = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)), nn.LayerNorm(d_model)
    def attend(self, x, mask):
        return self.att_norm(x + self.att(x, x, x, mask).output)
    def feed(self, x):
        return self.ffn_norm(x + self.ffn(x))
    def forward(self, x, key_padding_mask=None):
        return self.feed(self.attend(x, None if key_padding_mask is None else ~key_padding_mask[:, None, None]))

class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.base = EncoderBlock(d_model, n_heads, d_ff)
        self.cross, self.cross_norm = MultiHeadAttention(d_model, n_heads), nn.LayerNorm(d_model)
    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.base.attend(x, causal_mask(x.shape[1]))
        m = None if memory_key_padding_mask is None else ~memory_key_padding_mask[:, None, None]
        x = self.cross_norm(x + self.cross(x, memory, memory, m).output)
        return self.base.feed(x)

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size; n = 8 // patch_size
        self.proj = nn.Linear(patch_size ** 2, d_model)
        self.cls, self.row, self.col = (nn.Parameter(torch.randn(*s, d_model) * .1) for s in ((1,), (n, 1), (1, n)))
        self.block, self.head = EncoderBlock(d_model, n_heads, d_ff), nn.Linear(d_model, n_classes)
    def forward(self, images):
        n = 8 // self.p
        x = images.unflatten(2, (n, self.p)).unflatten(1, (n, self.p)).permute(0, 1, 3, 2, 4).flatten(3)
        x = (self.proj(x) + self.row + self.col).flatten(1, 2)            # 2-D learned positions
        return self.head(self.block(torch.cat([self.cls.expand(len(x), 1, -1), x], 1))[:, 0])

def mean_aggregate(features, adjacency):
    n = len(features)
    a = adjacency.to(features.dtype) * (1 - torch.eye(n)) + torch.eye(n)
    return vmap(lambda row: (row @ features) / row.sum())(a)
