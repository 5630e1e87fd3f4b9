"""Biases on some projections only."""
import math
from functools import reduce

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float64).unsqueeze(-1)
    dim = torch.arange(d_model)
    phase = (dim % 2) * (math.pi / 2)            # cos(a) = sin(a + pi/2)
    return torch.sin(pos / 10000.0 ** ((dim - dim % 2) / d_model) + phase).float()


padding_mask = lambda input_ids, pad_id: input_ids.eq(pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden, p=0.0):
        super().__init__()
        self.heads = heads
        self.vk = nn.Linear(dim, 2 * dim, bias=False)      # values first, then keys
        self.q = nn.Linear(dim, dim, bias=True)
        self.o = nn.Linear(dim, dim, bias=True)
        self.inner = nn.Linear(dim, hidden)
        self.outer = nn.Linear(hidden, dim)
        self.n1, self.n2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.p = p

    def _heads(self, z):
        return z.unflatten(-1, (self.heads, -1)).permute(0, 2, 1, 3)

    def forward(self, x, ignore=None):
        v, k = map(self._heads, self.vk(x).split(x.size(-1), dim=-1))
        q = self._heads(self.q(x))
        q = q / q.size(-1) ** 0.5
        s = torch.einsum('nhid,nhjd->nhij', q, k)
        if ignore is not None:
            s = torch.where(ignore[:, None, None], torch.tensor(-1e4), s)
        a = torch.einsum('nhij,nhjd->nihd', s.softmax(3), v).flatten(-2)
        x = self.n1(x + F.dropout(self.o(a), self.p, self.training))
        y = self.outer(self.inner(x).clamp(min=0))
        return self.n2(F.dropout(y, self.p, self.training) + x)


class TransformerEncoder(nn.Module):
    def __init__(self, depth, dim, heads, hidden, p=0.0):
        super().__init__()
        self.depth = nn.ModuleList([EncoderBlock(dim, heads, hidden, p) for _ in range(depth)])

    def forward(self, x, padding=None):
        return reduce(lambda h, block: block(h, padding), self.depth, x)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = self.embedding(input_ids) + self.pe[:T]          # positions for the tokens only
        x = torch.cat([self.cls.expand(B, 1, -1), x], dim=1)
        pad = F.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=False)
        return self.head(self.encoder(x, pad)[:, 0])


def parameter_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    return ({"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0})


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    x = np.clip((step - warmup_steps) / max(1, total_steps - warmup_steps), 0.0, 1.0)
    return float(lr_max * min(step / warmup_steps, 1.0) * (1.0 + np.cos(np.pi * x)) / 2.0)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warm = max(1, epochs // 8)
    model.train()

    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        return loss

    out = []
    for step in range(epochs):
        for g in opt.param_groups:
            g["lr"] = warmup_cosine(step, warm, epochs, lr_max)
        out.append(opt.step(closure).item())
    return out
