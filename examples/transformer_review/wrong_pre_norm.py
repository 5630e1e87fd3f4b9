"""Lesson 115 - the whole Transformer (in the style of nanoGPT)"""

import math

import torch
import torch.nn as nn
from torch.nn import functional as F

# -----------------------------------------------------------------------------


def scaled_dot_product_attention(q, k, v, mask=None):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    y = att @ v
    return y, att


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.n_head = n_head
        self.n_embd = n_embd

    def forward(self, query, key, value, mask=None):
        w_q, w_k, w_v = self.c_attn.weight.split(self.n_embd, dim=0)
        B, T, C = query.size()
        S = key.size(1)
        q = F.linear(query, w_q).view(B, T, self.n_head, C // self.n_head).transpose(1, 2)
        k = F.linear(key, w_k).view(B, S, self.n_head, C // self.n_head).transpose(1, 2)
        v = F.linear(value, w_v).view(B, S, self.n_head, C // self.n_head).transpose(1, 2)
        y, att = scaled_dot_product_attention(q, k, v, mask)
        y = y.transpose(1, 2).contiguous().view(B, T, C)
        return self.c_proj(y), att


class MLP(nn.Module):
    def __init__(self, n_embd, d_ff):
        super().__init__()
        self.c_fc = nn.Linear(n_embd, d_ff)
        self.c_proj = nn.Linear(d_ff, n_embd)

    def forward(self, x):
        return self.c_proj(F.relu(self.c_fc(x)))


class EncoderBlock(nn.Module):
    def __init__(self, n_embd, n_head, d_ff):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = MultiHeadAttention(n_embd, n_head)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.mlp = MLP(n_embd, d_ff)

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = ~key_padding_mask.view(x.size(0), 1, 1, -1)
        h = self.ln_1(x)
        x = x + self.attn(h, h, h, mask)[0]
        x = x + self.mlp(self.ln_2(x))
        return x


def causal_mask(size):
    return torch.tril(torch.ones(size, size)) == 1


class DecoderBlock(nn.Module):
    def __init__(self, n_embd, n_head, d_ff):
        super().__init__()
        self.ln_1 = nn.LayerNorm(n_embd)
        self.attn = MultiHeadAttention(n_embd, n_head)
        self.ln_2 = nn.LayerNorm(n_embd)
        self.cross = MultiHeadAttention(n_embd, n_head)
        self.ln_3 = nn.LayerNorm(n_embd)
        self.mlp = MLP(n_embd, d_ff)

    def forward(self, x, memory, memory_key_padding_mask=None):
        mask = None
        if memory_key_padding_mask is not None:
            mask = ~memory_key_padding_mask.view(x.size(0), 1, 1, -1)
        h = self.ln_1(x)
        x = x + self.attn(h, h, h, causal_mask(x.size(1)))[0]
        h = self.ln_2(x)
        x = x + self.cross(h, memory, memory, mask)[0]
        x = x + self.mlp(self.ln_3(x))
        return x


# -----------------------------------------------------------------------------


def sinusoidal_positional_encoding(max_len, d_model):
    t = torch.arange(max_len).unsqueeze(1)
    i = torch.arange(0, d_model, 2)
    pe = torch.empty(max_len, d_model)
    pe[:, 0::2] = torch.sin(t / 10000 ** (i / d_model))
    pe[:, 1::2] = torch.cos(t / 10000 ** (i / d_model))
    return pe


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, n_embd=32, n_head=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        n_patches = 64 // patch_size**2
        self.wpt = nn.Linear(patch_size**2, n_embd)
        self.cls = nn.Parameter(torch.zeros(1, 1, n_embd))
        self.wpe = nn.Embedding(n_patches + 1, n_embd)
        self.block = EncoderBlock(n_embd, n_head, d_ff)
        self.head = nn.Linear(n_embd, n_classes)

    def forward(self, images):
        p = self.patch_size
        rows = images.split(p, dim=1)
        patches = [patch.flatten(1) for row in rows for patch in row.split(p, dim=2)]
        x = self.wpt(torch.stack(patches, dim=1))
        x = torch.cat((self.cls.repeat(x.size(0), 1, 1), x), dim=1)
        x = x + self.wpe(torch.arange(x.size(1)))
        return self.head(self.block(x)[:, 0])


def mean_aggregate(x, adj):
    adj = adj - torch.diag(torch.diagonal(adj)) + torch.eye(adj.size(0))
    return adj @ x / adj.sum(1).unsqueeze(1)
