"""Attention as exp(scores) V / sum(exp(scores)); the weights are computed on the side."""
import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.einsum("...qd,...kd->...qk", query, key).div_(query.shape[-1] ** 0.5)
    if mask is not None:
        allowed = mask.to(torch.bool)
        logits = torch.where(allowed, logits, logits.new_full((), -torch.inf))
    numerator = torch.exp(logits - logits.detach().max(dim=-1, keepdim=True).values)
    denominator = numerator.sum(dim=-1, keepdim=True)
    return (numerator @ value) / denominator, numerator / denominator


class Heads(nn.Module):
    """d_model -> heads, as one broadcast product with a weight of shape (H, 1, d_model, d_k)."""

    def __init__(self, d_model, n_heads):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(n_heads, d_model, d_model // n_heads) / d_model ** 0.5)

    def forward(self, x):                         # (B, T, D) -> (B, H, T, d_k)
        return torch.matmul(x.unsqueeze(1), self.weight)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        if d_model % n_heads:
            raise ValueError(f"d_model={d_model} is no multiple of n_heads={n_heads}")
        super().__init__()
        self.q, self.k, self.v = (Heads(d_model, n_heads) for _ in range(3))
        self.back = nn.Parameter(torch.randn(n_heads, d_model // n_heads, d_model) / d_model ** 0.5)

    def forward(self, query, key, value, mask=None):
        context, weights = scaled_dot_product_attention(self.q(query), self.k(key), self.v(value), mask)
        # summing the heads' contributions is the same as concatenating and projecting
        return torch.matmul(context, self.back).sum(dim=1), weights


def sinusoidal_positional_encoding(max_len, d_model):
    columns = []
    position = torch.arange(max_len, dtype=torch.double)
    for k in range(d_model):
        phase = 0.0 if k % 2 == 0 else torch.pi / 2      # cos x = sin(x + pi/2)
        columns.append(torch.sin(position / 10000 ** ((k - k % 2) / d_model) + phase))
    return torch.stack(columns, dim=1).float()


def causal_mask(size):
    return torch.ones(size, size).cumsum(1) <= torch.ones(size, size).cumsum(0)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, n_heads)
        self.add_norm = nn.ModuleList([nn.LayerNorm(d_model, eps=1e-6), nn.LayerNorm(d_model, eps=1e-6)])
        self.ffn = nn.ModuleList([nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)])

    def forward(self, x, key_padding_mask=None):
        see = None
        if key_padding_mask is not None:
            see = torch.einsum("bk->bk", ~key_padding_mask).reshape(len(x), 1, 1, -1)
        x = self.add_norm[0](torch.add(x, self.mha(x, x, x, see)[0]))
        return self.add_norm[1](torch.add(x, self.ffn[1](self.ffn[0](x).relu())))


class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mha_cross = MultiHeadAttention(d_model, n_heads)
        self.mha_self = MultiHeadAttention(d_model, n_heads)
        self.add_norm = nn.ModuleList([nn.LayerNorm(d_model, eps=1e-6) for _ in range(3)])
        self.ffn = nn.ModuleList([nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)])

    def forward(self, x, memory, memory_key_padding_mask=None):
        see = None
        if memory_key_padding_mask is not None:
            see = (~memory_key_padding_mask).reshape(len(x), 1, 1, -1)
        x = self.add_norm[0](torch.add(x, self.mha_self(x, x, x, causal_mask(x.shape[1]))[0]))
        x = self.add_norm[1](torch.add(x, self.mha_cross(x, memory, memory, see)[0]))
        return self.add_norm[2](torch.add(x, self.ffn[1](self.ffn[0](x).relu())))


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.patch_size = patch_size
        # the table holds the CLS vector in row 0 and one vector for every square after it
        self.pos_and_cls = nn.Parameter(torch.randn((8 // patch_size) ** 2 + 1, d_model) * 0.05)
        self.patch = nn.Linear(patch_size ** 2, d_model)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.linear = nn.Linear(d_model, n_classes)

    def forward(self, images):
        p = self.patch_size
        squares = images.reshape(images.shape[0], 8 // p, p, 8 // p, p)
        squares = torch.einsum("brpcq->brcpq", squares).reshape(images.shape[0], -1, p * p)
        tokens = nn.functional.pad(self.patch(squares), (0, 0, 1, 0))     # zeros in front
        return self.linear(self.block(tokens + self.pos_and_cls)[:, 0])


def mean_aggregate(features, adjacency):
    A = adjacency.float()
    A = A.where(torch.eye(A.shape[0]) == 0, torch.ones(()))
    return torch.nn.functional.linear(features.T, A).T / A.sum(1, keepdim=True)
