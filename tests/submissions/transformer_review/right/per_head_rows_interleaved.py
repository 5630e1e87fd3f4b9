"""Fused projections whose rows are grouped by head: [q0 k0 v0 q1 k1 v1 ...] (as some GPT code does)."""
import torch
import torch.nn as nn
from math import sqrt, log

NEG = -1e9


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query.matmul(key.transpose(-1, -2)).div(sqrt(query.size(-1)))
    if mask is not None:
        scores = scores.masked_fill(mask == False, NEG)  # noqa: E712
    p = scores - scores.amax(-1, keepdim=True)
    p = p.exp()
    p = p / p.sum(-1, keepdim=True)
    return p.matmul(value), p


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads, self.d_head = n_heads, d_model // n_heads
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model, bias=False)

    def project(self, x, which):
        B, T, _ = x.shape
        y = self.qkv(x).view(B, T, self.n_heads, 3, self.d_head)
        return y[:, :, :, which].permute(0, 2, 1, 3)

    def forward(self, query, key, value, mask=None):
        ctx, p = scaled_dot_product_attention(
            self.project(query, 0), self.project(key, 1), self.project(value, 2), mask
        )
        B, H, T, d = ctx.shape
        return self.proj(ctx.permute(0, 2, 1, 3).reshape(B, T, H * d)), p


def sinusoidal_positional_encoding(max_len, d_model):
    rows = []
    for pos in range(max_len):
        row = []
        for i in range(d_model // 2):
            angle = torch.tensor(pos * torch.exp(torch.tensor(-log(10000.0) * 2 * i / d_model, dtype=torch.float64)))
            row += [angle.sin(), angle.cos()]
        rows.append(torch.stack(row))
    return torch.stack(rows).float()


def causal_mask(size):
    return torch.ones(size, size).tril().to(torch.bool)


class _FFN(nn.Module):
    def __init__(self, d_model, d_ff):
        super().__init__()
        self.c_fc = nn.Linear(d_model, d_ff)
        self.c_proj = nn.Linear(d_ff, d_model)

    def forward(self, x):
        return self.c_proj(torch.relu(self.c_fc(x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.ln_2 = nn.LayerNorm(d_model)
        self.mlp = _FFN(d_model, d_ff)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            B, T = key_padding_mask.shape
            mask = (~key_padding_mask).view(B, 1, 1, T).expand(B, 1, T, T)
        x = self.ln_1(self.attn(x, x, x, mask)[0] + x)
        return self.ln_2(self.mlp(x) + x)


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.ln_1 = nn.LayerNorm(d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        self.ln_3 = nn.LayerNorm(d_model)
        self.attn = MultiHeadAttention(d_model, n_heads)
        self.crossattention = MultiHeadAttention(d_model, n_heads)
        self.mlp = _FFN(d_model, d_ff)

    def forward(self, x, memory, memory_key_padding_mask=None):
        T = x.size(1)
        x = self.ln_1(self.attn(x, x, x, causal_mask(T)[None, None])[0] + x)
        mask = None
        if memory_key_padding_mask is not None:
            mask = memory_key_padding_mask.eq(0)[:, None, None, :]
        x = self.ln_2(self.crossattention(x, memory, memory, mask)[0] + x)
        return self.ln_3(self.mlp(x) + x)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        self.n_patches = (8 // patch_size) ** 2
        self.wpe = nn.Embedding(self.n_patches, d_model)
        self.cls = nn.Embedding(1, d_model)
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.classifier = nn.Linear(d_model, n_classes)
        nn.init.normal_(self.wpe.weight, std=0.02)

    def patches(self, images):
        p = self.patch_size
        cut = []
        for r in range(0, 8, p):
            for c in range(0, 8, p):
                cut.append(images[:, r:r + p, c:c + p].reshape(len(images), p * p))
        return torch.stack(cut, dim=1)

    def forward(self, images):
        x = self.embed(self.patches(images)) + self.wpe.weight
        cls = self.cls(torch.zeros(len(images), 1, dtype=torch.long))
        x = self.block(torch.cat((cls, x), dim=1))
        return self.classifier(x[:, 0])


def mean_aggregate(features, adjacency):
    A = adjacency.to(features.dtype)
    A = A - torch.diag(A.diagonal()) + torch.eye(A.size(0))
    return A.matmul(features) / A.sum(1).unsqueeze(1)
