"""nn.MultiheadAttention in its (T, B, D) layout; blocks return the weights too."""
import functools
import math
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    k = np.arange(d_model // 2, dtype=np.float64)
    angles = np.arange(max_len, dtype=np.float64)[:, None] / 10000.0 ** (2.0 * k / d_model)
    table = np.concatenate([np.sin(angles)[..., None], np.cos(angles)[..., None]], axis=-1)
    return torch.from_numpy(table.reshape(max_len, d_model).astype(np.float32))


def padding_mask(input_ids, pad_id):
    return torch.tensor([[int(token) == pad_id for token in row] for row in input_ids.tolist()])


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, bias=False)   # (T, B, D)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        """-> output, attention weights (B, H, T, T)"""
        z = x.transpose(0, 1)
        a, weights = self.self_attn(z, z, z, key_padding_mask=key_padding_mask, average_attn_weights=False)
        x = self.norm1(x + self.dropout(a.transpose(0, 1)))
        x = self.norm2(x + self.dropout(self.linear2(F.relu(self.linear1(x)))))
        return x, weights


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self.blocks:
            x, _ = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embed = nn.Embedding(1 + vocab_size, d_model)       # row 0 is [CLS], token t has row t + 1
        self.pos = nn.Embedding.from_pretrained(sinusoidal_positional_encoding(max_len + 1, d_model), freeze=True)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        rows = torch.cat([torch.zeros_like(input_ids[:, :1]), input_ids + 1], dim=1)
        x = self.dropout(self.embed(rows) + self.pos(torch.arange(rows.size(1))))
        x = self.encoder(x, padding_mask(rows, self.pad_id + 1))
        return self.linear(x[:, 0])


def parameter_groups(model, weight_decay):
    big = lambda p: p.dim() > 1
    small = lambda p: p.dim() <= 1
    return [dict(params=filter(big, model.parameters()), weight_decay=weight_decay),
            dict(params=filter(small, model.parameters()), weight_decay=0.0)]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    step = min(max(step, 0), total_steps)
    if step < warmup_steps:
        return lr_max * step / max(1, warmup_steps)
    fraction = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * lr_max * (1.0 + math.cos(math.pi * min(1.0, fraction)))


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
