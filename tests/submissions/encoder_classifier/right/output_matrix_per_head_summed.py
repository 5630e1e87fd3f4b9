import functools
import math
import time
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    """exp(i * angle) = cos + i sin"""
    angle = torch.outer(torch.arange(max_len).double(), 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model))
    z = torch.polar(torch.ones_like(angle), angle)
    return torch.stack([z.imag, z.real], dim=2).reshape(max_len, d_model).float()


padding_mask = partial(torch.eq)


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


class TransformerEncoderClassifier(TransformerEncoder):
    """An encoder with an embedding before and a head behind it."""

    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__(n_layers, d_model, n_heads, d_ff, dropout=dropout)
        self.pad_id = pad_id
        self.emb = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.1)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model))
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        x = torch.cat([self.cls.expand(input_ids.size(0), -1, -1), self.emb(input_ids)], 1)
        x = x + self.pe[: x.size(1)]
        m = padding_mask(input_ids, self.pad_id)
        m = torch.cat([m.new_zeros(m.size(0), 1), m], 1)
        return self.head(super().forward(x, m)[:, 0])


def parameter_groups(model, weight_decay):
    return [
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if warmup_steps > 0 and step <= warmup_steps:
        return lr_max * float(step) / float(warmup_steps)
    remaining = (total_steps - step) / max(1, total_steps - warmup_steps)
    return lr_max * math.sin(remaining * math.pi / 2) ** 2


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        try:
            return fn(*args, **kwargs)
        finally:
            wrapper.seconds = time.perf_counter() - start
    return wrapper


@timed
def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    rates = [warmup_cosine(s, max(1, epochs // 10), epochs, lr_max) for s in range(epochs)]
    was_training = model.training
    model.train()
    losses = []
    for lr in rates:
        for group in optimizer.param_groups:
            group.update(lr=lr)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.train(was_training)
    return losses
