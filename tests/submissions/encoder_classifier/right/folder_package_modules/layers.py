import torch
from torch import nn


class OneHead(nn.Module):
    """A head with its own part of the output matrix: the sum over heads equals concatenation and projection."""

    def __init__(self, dim, d_k):
        super().__init__()
        self.q = nn.Parameter(torch.randn(dim, d_k) * dim ** -0.5)
        self.k = nn.Parameter(torch.randn(dim, d_k) * dim ** -0.5)
        self.v = nn.Parameter(torch.randn(dim, d_k) * dim ** -0.5)
        self.o = nn.Parameter(torch.randn(d_k, dim) * dim ** -0.5)

    def forward(self, x, ignore):
        scores = (x @ self.q) @ (x @ self.k).transpose(1, 2) * self.q.size(1) ** -0.5
        if ignore is not None:
            scores = scores.masked_fill(ignore[:, None, :], float("-inf"))
        return scores.softmax(-1) @ (x @ self.v) @ self.o


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, ff, dropout=0.0, eps=1e-5):
        super().__init__()
        self.heads = nn.ModuleList(OneHead(dim, dim // heads) for _ in range(heads))
        self.ff = nn.Sequential(nn.Linear(dim, ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(ff, dim), nn.Dropout(dropout))
        self.norm_heads = nn.LayerNorm(dim, eps=eps)
        self.norm_ff = nn.LayerNorm(dim, eps=eps)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, padding=None):
        total = torch.stack([head(x, padding) for head in self.heads]).sum(0)
        x = self.norm_heads(x + self.dropout(total))
        return self.norm_ff(x + self.ff(x))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x
