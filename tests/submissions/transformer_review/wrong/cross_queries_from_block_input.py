from torch import nn
from torch.nn import functional as F
import torch, math
import numpy as np


def scaled_dot_product_attention(query, key, value, mask=None):
    s = torch.matmul(query, key.mT) / key.shape[-1] ** 0.5
    if mask is not None:
        s = s + (mask == 0).to(s.dtype) * -1e9
    p = torch.softmax(s, -1)
    return torch.matmul(p, value), p


class OneHead(nn.Module):
    def __init__(self, embed_dim, width):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(embed_dim, width, bias=False) for _ in range(3))

    def forward(self, query, key, value, mask):
        return scaled_dot_product_attention(self.q(query), self.k(key), self.v(value), mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, embed_dim, num_heads):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError((embed_dim, num_heads))
        self.heads = nn.ModuleList(OneHead(embed_dim, embed_dim // num_heads) for _ in range(num_heads))
        self.join = nn.Linear(embed_dim, embed_dim, bias=False)

    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)
        done = [head(query, key, value, mask) for head in self.heads]
        return self.join(torch.cat([y for y, _ in done], -1)), torch.stack([p for _, p in done], 1)


def sinusoidal_positional_encoding(max_len, embed_dim):
    i = torch.arange(embed_dim // 2, dtype=torch.float64)
    freq = 10000.0 ** (-2 * i / embed_dim)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def causal_mask(size):
    r = torch.arange(size)
    return r[None, :] <= r[:, None]


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.a = nn.Parameter(torch.ones(features))
        self.c = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        return self.a * (x - mean) / torch.sqrt(var + self.eps) + self.c


class FeedForward(nn.Module):
    def __init__(self, embed_dim, ffn_dim):
        super().__init__()
        self.up = nn.Linear(embed_dim, ffn_dim)
        self.down = nn.Linear(ffn_dim, embed_dim)

    def forward(self, x):
        return self.down(F.relu(self.up(x)))


class EncoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim):
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.ff = FeedForward(embed_dim, ffn_dim)
        self.ln_a = LayerNorm(embed_dim)
        self.ln_b = LayerNorm(embed_dim)

    def forward(self, x, key_padding_mask=None):
        allowed = None if key_padding_mask is None else (key_padding_mask == False).unsqueeze(1).unsqueeze(1)
        attended = self.attention(x, x, x, allowed)[0]
        x = self.ln_a(x + attended)
        return self.ln_b(x + self.ff(x))


class DecoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim):
        super().__init__()
        self.attention = MultiHeadAttention(embed_dim, num_heads)
        self.cross_attention = MultiHeadAttention(embed_dim, num_heads)
        self.ff = FeedForward(embed_dim, ffn_dim)
        self.ln_a = LayerNorm(embed_dim)
        self.ln_b = LayerNorm(embed_dim)
        self.ln_c = LayerNorm(embed_dim)

    def forward(self, x, memory, memory_key_padding_mask=None):
        allowed = None if memory_key_padding_mask is None else (memory_key_padding_mask == False).unsqueeze(1).unsqueeze(1)
        attended = self.attention(x, x, x, causal_mask(x.shape[1]))[0]
        x1 = self.ln_a(x + attended)
        crossed = self.cross_attention(x, memory, memory, allowed)[0]
        x2 = self.ln_b(x1 + crossed)
        return self.ln_c(x2 + self.ff(x2))


class PixelBERT(nn.Module):
    """8x8 digits -> squares -> tokens -> CLS -> classes"""

    def __init__(self, n_classes=10, patch_size=2, embed_dim=32, num_heads=4, ffn_dim=64):
        super().__init__()
        self.patch = nn.Conv2d(1, embed_dim, kernel_size=patch_size, stride=patch_size)
        self.cls_token = nn.Parameter(torch.zeros(embed_dim))
        nn.init.normal_(self.cls_token, std=0.02)
        self.position = nn.Embedding((8 // patch_size) ** 2 + 1, embed_dim)
        self.encoder = EncoderBlock(embed_dim, num_heads, ffn_dim)
        self.classify = nn.Linear(embed_dim, n_classes)

    def forward(self, images):
        tokens = self.patch(images[:, None]).flatten(2).transpose(1, 2)
        start = self.cls_token.repeat(len(images), 1, 1)
        seq = torch.cat((start, tokens), 1)
        seq = seq + self.position.weight
        return self.classify(self.encoder(seq)[:, 0, :])


def mean_aggregate(features, adjacency):
    a = adjacency.clone().float()
    a.fill_diagonal_(1.0)
    return a @ features / a.sum(dim=1, keepdim=True)


ANSWERS = {"scale-factor": "A", "doubling-n": "A"}
