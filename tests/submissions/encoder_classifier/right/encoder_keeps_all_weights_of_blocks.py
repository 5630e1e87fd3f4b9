"""Blocks return a pair; the encoder keeps the weights."""
import math
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    k = np.arange(d_model // 2, dtype=np.float64)
    angles = np.arange(max_len, dtype=np.float64)[:, None] / 10000.0 ** (2.0 * k / d_model)
    table = np.concatenate([np.sin(angles)[..., None], np.cos(angles)[..., None]], axis=-1)
    return torch.from_numpy(table.reshape(max_len, d_model).astype(np.float32))


padding_mask = lambda input_ids, pad_id: input_ids.eq(pad_id)


class Attention(nn.Module):
    def __init__(self, d_model, h):
        super().__init__()
        self.h = h
        self.W = nn.ParameterDict({name: nn.Parameter(nn.init.xavier_uniform_(torch.empty(d_model, d_model)))
                                   for name in "QKVO"})

    def forward(self, q, k, v, mask=None):
        b, t, d = q.shape
        Q, K, V = ((z @ self.W[n]).view(b, -1, self.h, d // self.h).transpose(1, 2) for z, n in ((q, "Q"), (k, "K"), (v, "V")))
        E = Q @ K.transpose(-1, -2) / (d // self.h) ** 0.5
        if mask is not None:
            E = E.masked_fill(mask[:, None, None, :], float("-inf"))
        A = E.softmax(-1)
        return (A @ V).transpose(1, 2).reshape(b, t, d) @ self.W["O"], A


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = Attention(d_model, n_heads)
        self.w1, self.w2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.ln1, self.ln2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, mask=None, return_weights=True):
        y, A = self.attention(x, x, x, mask)
        x = self.ln1(x + self.drop(y))
        x = self.ln2(x + self.drop(self.w2(torch.relu(self.w1(x)))))
        return (x, A) if return_weights else x


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        all_weights = []
        for block in self.blocks:
            x, w = block(x, key_padding_mask)
            all_weights.append(w)
        self.attention_maps = [w.detach() for w in all_weights]
        return x


@dataclass(frozen=True)
class ModelConfig:
    vocab_size: int
    n_classes: int
    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    max_len: int
    pad_id: int
    dropout: float


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.config = c = ModelConfig(vocab_size, n_classes, d_model, n_heads, d_ff, n_layers, max_len, pad_id, dropout)
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.cls = nn.Parameter(torch.empty(c.d_model))
        self.encoder = TransformerEncoder(c.n_layers, c.d_model, c.n_heads, c.d_ff, c.dropout)
        self.head = nn.Linear(c.d_model, c.n_classes)
        self.register_buffer("positions", sinusoidal_positional_encoding(c.max_len + 1, c.d_model))
        self.apply(self._init)
        nn.init.trunc_normal_(self.cls, std=0.02)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.5)

    def forward(self, input_ids):
        if input_ids.size(1) > self.config.max_len:
            raise ValueError("sentence too long")
        tokens = self.embedding(input_ids)
        x = torch.empty(tokens.size(0), tokens.size(1) + 1, tokens.size(2))
        x[:, 0] = self.cls
        x[:, 1:] = tokens
        x = x + self.positions[: x.size(1)]
        ignore = torch.zeros(x.shape[:2], dtype=torch.bool)
        ignore[:, 1:] = padding_mask(input_ids, self.config.pad_id)
        return self.head(self.encoder(x, ignore)[:, 0])


def parameter_groups(model, weight_decay):
    for decays in (True, False):
        members = [p for p in model.parameters() if (p.dim() > 1) is decays]
        if members:
            yield {"params": members, "weight_decay": weight_decay if decays else 0.0}


warmup_cosine = lambda step, warmup_steps, total_steps, lr_max: (
    lr_max * step / warmup_steps if step < warmup_steps
    else lr_max * (0.5 + 0.5 * math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps))))


class WarmupCosine(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, warmup_steps, total_steps, lr_max):
        self.args = (warmup_steps, total_steps, lr_max)
        super().__init__(optimizer)

    def get_lr(self):
        return [warmup_cosine(self.last_epoch, *self.args) for _ in self.optimizer.param_groups]


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    scheduler = WarmupCosine(optimizer, max(1, epochs // 10), epochs, lr_max)
    model.train()
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(float(loss))
    return losses
