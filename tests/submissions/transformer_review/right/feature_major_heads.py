"""Head h takes the columns h, h + H, h + 2H, ... of the projections (reshape to (d_k, H), not (H, d_k))."""
import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = torch.nan_to_num(torch.softmax(scores, dim=-1))
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, num_heads):
        super().__init__()
        if d_model % num_heads != 0:
            raise ValueError("num_heads must divide d_model")
        self.num_heads = num_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def split_heads(self, x):
        B, T, D = x.shape
        return x.reshape(B, T, D // self.num_heads, self.num_heads).permute(0, 3, 1, 2)

    def combine_heads(self, x):
        B, H, T, d = x.shape
        return x.permute(0, 2, 3, 1).reshape(B, T, H * d)

    def forward(self, query, key, value, mask=None):
        Q = self.split_heads(self.Wq(query))
        K = self.split_heads(self.Wk(key))
        V = self.split_heads(self.Wv(value))
        out, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.Wo(self.combine_heads(out)), weights


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len).repeat_interleave(d_model).view(max_len, d_model)
    dim = torch.arange(d_model).repeat(max_len, 1)
    angle = pos.double() / 10000.0 ** (dim.bitwise_and(-2).double() / d_model)
    return (angle.sin() * (1 - dim % 2) + angle.cos() * (dim % 2)).float()


def causal_mask(size):
    mask = torch.ones(size, size, dtype=torch.bool)
    r, c = torch.triu_indices(size, size, offset=1)
    mask[r, c] = False
    return mask


class EncoderBlock(nn.Module):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__()
        self.norm2 = nn.LayerNorm(d_model, eps=1e-12)
        self.norm1 = nn.LayerNorm(d_model, eps=1e-12)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.self_attn = MultiHeadAttention(d_model, num_heads)

    def _sa_block(self, x, mask):
        return self.self_attn(x, x, x, mask)[0]

    def _ff_block(self, x):
        return self.linear2(torch.nn.functional.relu(self.linear1(x)))

    def forward(self, src, src_key_padding_mask=None):
        mask = None if src_key_padding_mask is None else ~src_key_padding_mask.unsqueeze(1).unsqueeze(2)
        x = src
        x = self.norm1(x + self._sa_block(x, mask))
        x = self.norm2(x + self._ff_block(x))
        return x


class DecoderBlock(EncoderBlock):
    def __init__(self, d_model, num_heads, d_ff):
        super().__init__(d_model, num_heads, d_ff)
        self.multihead_attn = MultiHeadAttention(d_model, num_heads)
        self.norm3 = nn.LayerNorm(d_model, eps=1e-12)

    def forward(self, tgt, memory, memory_key_padding_mask=None):
        x = tgt
        x = self.norm1(x + self._sa_block(x, causal_mask(x.size(1))))
        mask = None
        if memory_key_padding_mask is not None:
            mask = ~memory_key_padding_mask.unsqueeze(1).unsqueeze(2)
        x = self.norm2(x + self.multihead_attn(x, memory, memory, mask)[0])
        x = self.norm3(x + self._ff_block(x))
        return x


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        self.patch_embed = nn.Linear(patch_size ** 2, d_model)
        self.cls_token = nn.Parameter(torch.randn(1, 1, d_model))
        self.pos_embed = nn.Parameter(torch.randn(1, (8 // patch_size) ** 2 + 1, d_model))
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.norm = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        p = self.patch_size
        # columns first: squares are numbered from top to bottom, which only renames the positions
        x = images.unfold(2, p, p).unfold(1, p, p).transpose(1, 2).reshape(images.shape[0], -1, p * p)
        x = self.patch_embed(x)
        x = torch.cat([self.cls_token.expand(x.shape[0], -1, -1), x], dim=1) + self.pos_embed
        return self.head(self.norm(self.encoder(x)[:, 0]))


def mean_aggregate(features, adjacency):
    A = adjacency.float()
    A = A + torch.eye(A.shape[0]) * (A.diagonal() == 0)
    return A @ features / A.sum(dim=1, keepdim=True)
