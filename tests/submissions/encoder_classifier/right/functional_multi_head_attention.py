"""F.multi_head_attention_forward with raw parameters."""
import copy
import math
from collections import defaultdict
from functools import partial

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


class _Sinusoid:
    def __init__(self, base=10000.0):
        self.base = base

    def __call__(self, max_len, d_model):
        step = torch.arange(0, d_model, 2).float().div(d_model).mul(math.log(self.base)).neg().exp()
        phase = torch.arange(max_len).float().unsqueeze(1).mul(step)
        pe = phase.new_zeros(max_len, d_model)
        pe[:, 0::2].copy_(phase.sin())
        pe[:, 1::2].copy_(phase.cos())
        return pe


sinusoidal_positional_encoding = _Sinusoid()


padding_mask = partial(torch.eq)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.dropout = dropout
        self.in_w = nn.Parameter(torch.empty(3 * d_model, d_model))
        self.in_b = nn.Parameter(torch.zeros(3 * d_model))
        self.out_w = nn.Parameter(torch.empty(d_model, d_model))
        self.out_b = nn.Parameter(torch.zeros(d_model))
        for w in (self.in_w, self.out_w):
            nn.init.orthogonal_(w)
        self.ff1 = nn.Linear(d_model, d_ff)
        self.ff2 = nn.Linear(d_ff, d_model)
        self.norm_att = nn.LayerNorm(d_model)
        self.norm_ff = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        s = x.transpose(0, 1)
        a = F.multi_head_attention_forward(
            s, s, s, x.size(-1), self.n_heads, self.in_w, self.in_b, None, None, False,
            self.dropout, self.out_w, self.out_b, training=self.training,
            key_padding_mask=key_padding_mask, need_weights=False)[0].transpose(0, 1)
        x = self.norm_att(x + F.dropout(a, self.dropout, self.training))
        f = self.ff2(F.relu(self.ff1(x)))
        return self.norm_ff(x + F.dropout(f, self.dropout, self.training))


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = clones(EncoderBlock(d_model, n_heads, d_ff, dropout), n_layers)

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
    groups = defaultdict(list)
    for p in model.parameters():
        groups[weight_decay if p.ndim > 1 else 0.0].append(p)
    return [{"params": ps, "weight_decay": wd, "lr_scale": 1.0, "betas": (0.9, 0.99), "comment": "decayed" if wd else "free"}
            for wd, ps in groups.items()]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    x = np.clip((step - warmup_steps) / max(1, total_steps - warmup_steps), 0.0, 1.0)
    return float(lr_max * min(step / warmup_steps, 1.0) * (1.0 + np.cos(np.pi * x)) / 2.0)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max, foreach=False)
    model.train()
    history = torch.zeros(epochs)
    targets = None
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, max(1, epochs // 10), epochs, lr_max)
        logits = model(input_ids)
        if targets is None:
            k = logits.size(1)
            targets = torch.full_like(logits, label_smoothing / k, requires_grad=False).detach()
            targets[torch.arange(len(labels)), labels] += 1.0 - label_smoothing
        loss = F.cross_entropy(logits, targets)        # probabilities as target
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history[epoch] = loss.detach()
    return history.tolist()
