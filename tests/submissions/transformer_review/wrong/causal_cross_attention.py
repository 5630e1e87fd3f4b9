import torch
from torch import nn, einsum


def scaled_dot_product_attention(q, k, v, mask=None):
    scale = q.shape[-1] ** -0.5
    energy = einsum("...id,...jd->...ij", q * scale, k)
    if mask is not None:
        energy = torch.where(mask.bool(), energy, torch.tensor(float("-inf"), dtype=energy.dtype))
    attn = energy.softmax(-1)
    return einsum("...ij,...jd->...id", attn, v), attn


class MultiHeadAttention(nn.Module):
    """One weight tensor of shape (heads, d_model, d_k) for each of q, k and v."""

    def __init__(self, dim, heads):
        super().__init__()
        assert dim % heads == 0, "heads must divide dim"
        d_k = dim // heads
        self.wq = nn.Parameter(torch.empty(heads, dim, d_k))
        self.wk = nn.Parameter(torch.empty(heads, dim, d_k))
        self.wv = nn.Parameter(torch.empty(heads, dim, d_k))
        self.wo = nn.Parameter(torch.empty(heads, d_k, dim))
        for w in self.parameters():
            nn.init.normal_(w, std=dim ** -0.5)

    def forward(self, q, k, v, mask=None):
        q = einsum("btd,hdk->bhtk", q, self.wq)
        k = einsum("btd,hdk->bhtk", k, self.wk)
        v = einsum("btd,hdk->bhtk", v, self.wv)
        ctx, attn = scaled_dot_product_attention(q, k, v, mask)
        return einsum("bhtk,hkd->btd", ctx, self.wo), attn


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float64)
    inv_freq = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = einsum("p,f->pf", pos, inv_freq)
    return torch.stack((angles.sin(), angles.cos()), dim=-1).reshape(max_len, d_model).float()


def causal_mask(n):
    i = torch.arange(n)
    return i[:, None] >= i[None, :]


class FeedForward(nn.Module):
    def __init__(self, dim, hidden):
        super().__init__()
        self.w1 = nn.Parameter(torch.randn(dim, hidden) * dim ** -0.5)
        self.b1 = nn.Parameter(torch.zeros(hidden))
        self.w2 = nn.Parameter(torch.randn(hidden, dim) * hidden ** -0.5)
        self.b2 = nn.Parameter(torch.zeros(dim))

    def forward(self, x):
        h = (einsum("btd,df->btf", x, self.w1) + self.b1).clamp(min=0)
        return einsum("btf,fd->btd", h, self.w2) + self.b2


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.ff = FeedForward(dim, hidden)
        self.mha = MultiHeadAttention(dim, heads)
        self.ln_ff = nn.LayerNorm(dim)
        self.ln_mha = nn.LayerNorm(dim)

    def forward(self, x, key_padding_mask=None):
        keep = None if key_padding_mask is None else key_padding_mask.logical_not()[:, None, None]
        x = self.ln_mha(x + self.mha(x, x, x, keep)[0])
        return self.ln_ff(x + self.ff(x))


class DecoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden):
        super().__init__()
        self.ff = FeedForward(dim, hidden)
        self.cross = MultiHeadAttention(dim, heads)
        self.masked = MultiHeadAttention(dim, heads)
        self.ln_ff = nn.LayerNorm(dim)
        self.ln_cross = nn.LayerNorm(dim)
        self.ln_masked = nn.LayerNorm(dim)

    def forward(self, x, memory, memory_key_padding_mask=None):
        keep = None
        if memory_key_padding_mask is not None:
            keep = memory_key_padding_mask.logical_not()[:, None, None]
        x = self.ln_masked(x + self.masked(x, x, x, causal_mask(x.shape[1]))[0])
        tri = torch.ones(x.shape[1], memory.shape[1]).tril().bool()
        keep = tri if keep is None else keep & tri
        x = self.ln_cross(x + self.cross(x, memory, memory, keep)[0])
        return self.ln_ff(x + self.ff(x))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        self.n = 8 // patch_size
        self.w_patch = nn.Parameter(torch.randn(patch_size, patch_size, d_model) / patch_size)
        self.cls = nn.Parameter(torch.zeros(d_model))
        self.pos = nn.Parameter(torch.randn(self.n, self.n, d_model) * 0.1)   # CLS has no position
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.out = nn.Linear(d_model, n_classes)

    def forward(self, images):
        b = images.shape[0]
        grid = images.reshape(b, self.n, self.p, self.n, self.p)
        tokens = einsum("bypxq,pqd->byxd", grid, self.w_patch) + self.pos
        tokens = tokens.reshape(b, self.n * self.n, -1)
        cls = self.cls.expand(b, 1, -1)
        return self.out(self.block(torch.cat((cls, tokens), 1))[:, 0])


def mean_aggregate(features, adjacency):
    a = (adjacency.bool() | torch.eye(len(adjacency), dtype=torch.bool)).to(features.dtype)
    return einsum("ij,jf->if", a, features) / einsum("ij->i", a)[:, None]
