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
    pe = torch.zeros(max_len, embed_dim)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, embed_dim, 2).float() * (-math.log(10000.0) / embed_dim))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


def causal_mask(size):
    r = torch.arange(size)
    return r[None, :] <= r[:, None]


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = ((x - mean) ** 2).mean(-1, keepdim=True)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


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
        x = self.ln_a(x)
        x = x + self.attention(x, x, x, allowed)[0]
        x = self.ln_b(x)
        return x + self.ff(x)


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
        crossed = self.cross_attention(x1, memory, memory, allowed)[0]
        x2 = self.ln_b(x1 + crossed)
        return self.ln_c(x2 + self.ff(x2))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, embed_dim=32, num_heads=4, ffn_dim=64):
        super().__init__()
        self.ps = patch_size
        self.side = 8 // patch_size
        self.proj = nn.Linear(patch_size ** 2, embed_dim)
        self.cls = nn.Parameter(torch.randn(1, 1, embed_dim))
        self.pos_emb = nn.Parameter(0.02 * torch.randn(self.side ** 2 + 1, embed_dim))
        self.enc = EncoderBlock(embed_dim, num_heads, ffn_dim)
        self.out = nn.Linear(embed_dim, n_classes)

    def cut(self, images):
        s, p = self.side, self.ps
        grid = images.reshape(-1, s, p, s, p)
        return grid.permute(0, 1, 3, 2, 4).reshape(-1, s * s, p * p)

    def forward(self, images):
        x = self.proj(self.cut(images))
        x = torch.cat([self.cls.repeat(x.shape[0], 1, 1), x], dim=1) + self.pos_emb
        x = self.enc(x)
        return self.out(x[:, 0])


def mean_aggregate(features, adjacency):
    loops = torch.eye(adjacency.shape[0])
    hat = torch.maximum(adjacency.float(), loops)
    degree = hat.sum(1)
    return torch.diag(1 / degree) @ hat @ features


ANSWERS = {"scale-factor": "A", "doubling-n": "A"}
