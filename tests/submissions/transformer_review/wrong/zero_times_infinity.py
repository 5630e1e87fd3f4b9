# tokens flattened to (B*T, D) wherever it goes; addmm for every linear map
import math
import torch
import torch.nn as nn


class Affine(nn.Module):
    def __init__(self, n_in, n_out, bias=True):
        super().__init__()
        bound = 1 / math.sqrt(n_in)
        self.matrix = nn.Parameter(torch.empty(n_in, n_out).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.zeros(n_out)) if bias else None

    def forward(self, x):
        flat = x.reshape(-1, x.shape[-1])
        flat = flat.mm(self.matrix) if self.bias is None else torch.addmm(self.bias, flat, self.matrix)
        return flat.reshape(*x.shape[:-1], -1)


def softmax(x):
    x = x - x.max(dim=-1, keepdim=True)[0]
    e = torch.exp(x)
    return e / torch.sum(e, dim=-1, keepdim=True)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query.matmul(key.transpose(-2, -1)) / math.sqrt(key.shape[-1])
    if mask is not None:
        m = mask.to(scores.dtype)
        scores = scores + (1.0 - m) * float("-inf")
    weights = softmax(scores)
    return weights.matmul(value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, emb, heads):
        super().__init__()
        assert emb % heads == 0, f"{emb} % {heads} != 0"
        self.emb, self.heads = emb, heads
        self.tokeys = Affine(emb, emb, bias=False)
        self.toqueries = Affine(emb, emb, bias=False)
        self.tovalues = Affine(emb, emb, bias=False)
        self.unifyheads = Affine(emb, emb)

    def forward(self, query, key, value, mask=None):
        b, t, e = query.size()
        s, h = key.size(1), self.heads
        queries = self.toqueries(query).view(b, t, h, e // h).transpose(1, 2).contiguous()
        keys = self.tokeys(key).view(b, s, h, e // h).transpose(1, 2).contiguous()
        values = self.tovalues(value).view(b, s, h, e // h).transpose(1, 2).contiguous()
        out, weights = scaled_dot_product_attention(queries, keys, values, mask)
        out = out.transpose(1, 2).contiguous().view(b, t, e)
        return self.unifyheads(out), weights


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros((max_len, d_model))
    for k in range(max_len):
        for i in torch.arange(int(d_model / 2)):
            denominator = torch.pow(torch.tensor(10000.0), 2 * i / d_model)
            pe[k, 2 * i] = torch.sin(k / denominator)
            pe[k, 2 * i + 1] = torch.cos(k / denominator)
    return pe


def causal_mask(size):
    full = torch.ones((size, size))
    return (full - torch.triu(full, diagonal=1)).type(torch.bool)


class Norm(nn.Module):
    def __init__(self, emb, eps=1e-6):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(emb))
        self.beta = nn.Parameter(torch.zeros(emb))
        self.eps = eps

    def forward(self, x):
        mean = x.sum(-1, keepdim=True) / x.size(-1)
        var = (x * x).sum(-1, keepdim=True) / x.size(-1) - mean * mean
        return self.alpha * (x - mean) / (var.clamp(min=0) + self.eps).sqrt() + self.beta


class EncoderBlock(nn.Module):
    def __init__(self, emb, heads, hidden):
        super().__init__()
        self.attention = MultiHeadAttention(emb, heads)
        self.norm1 = Norm(emb)
        self.norm2 = Norm(emb)
        self.ff = nn.Sequential(Affine(emb, hidden), nn.ReLU(), Affine(hidden, emb))
        self.do = nn.Dropout(0.0)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = (~key_padding_mask)[:, None, None, :]
        attended, weights = self.attention(x, x, x, mask)
        x = self.norm1(attended + x)
        x = self.do(x)
        fedforward = self.ff(x)
        x = self.norm2(fedforward + x)
        return self.do(x)


class DecoderBlock(nn.Module):
    def __init__(self, emb, heads, hidden):
        super().__init__()
        self.attention = MultiHeadAttention(emb, heads)
        self.cross = MultiHeadAttention(emb, heads)
        self.norm1 = Norm(emb)
        self.norm2 = Norm(emb)
        self.norm3 = Norm(emb)
        self.ff = nn.Sequential(Affine(emb, hidden), nn.ReLU(), Affine(hidden, emb))

    def forward(self, x, memory, memory_key_padding_mask=None):
        mask = None
        if memory_key_padding_mask is not None:
            mask = (~memory_key_padding_mask)[:, None, None, :]
        attended, _ = self.attention(x, x, x, causal_mask(x.size(1)).to(x.device))
        x = self.norm1(attended + x)
        attended, _ = self.cross(x, memory, memory, mask)
        x = self.norm2(attended + x)
        return self.norm3(self.ff(x) + x)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.size = patch_size
        self.patch_embedding = Affine(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(1, d_model))
        self.pos = nn.Embedding((8 // patch_size) ** 2 + 1, d_model)
        self.tblock = EncoderBlock(d_model, n_heads, d_ff)
        self.toprobs = Affine(d_model, n_classes)

    def forward(self, images):
        b, s = images.size(0), self.size
        n = 8 // s
        patches = torch.zeros(b, n * n, s * s)
        for i in range(n):
            for j in range(n):
                patches[:, i * n + j] = images[:, s * i:s * (i + 1), s * j:s * (j + 1)].reshape(b, -1)
        tokens = self.patch_embedding(patches)
        tokens = torch.cat((self.cls.expand(b, 1, -1), tokens), 1)
        positions = self.pos(torch.arange(n * n + 1))[None, :, :].expand(b, n * n + 1, tokens.size(2))
        x = self.tblock(tokens + positions)
        return self.toprobs(x[:, 0, :])


def mean_aggregate(features, adjacency):
    n = len(features)
    edges = adjacency.to(torch.bool) | torch.eye(n).to(torch.bool)
    target, source = torch.where(edges)
    out = torch.zeros_like(features)
    out = out.index_reduce(0, target, features[source], "mean", include_self=False)
    return out
