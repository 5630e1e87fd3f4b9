"""Transformer review homework."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    freq = 10000.0 ** (-2 * i / d_model)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


padding_mask = lambda input_ids, pad_id: torch.logical_not(input_ids != pad_id)


class EncoderBlock(nn.TransformerEncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(d_model=d_model, nhead=n_heads, dim_feedforward=d_ff, dropout=dropout, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return super().forward(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        proto = nn.TransformerEncoderLayer(d_model=d_model, nhead=n_heads, dim_feedforward=d_ff, dropout=dropout, batch_first=True)
        self.body = nn.TransformerEncoder(proto, num_layers=n_layers, norm=nn.LayerNorm(d_model), enable_nested_tensor=False)

    def forward(self, x, key_padding_mask=None):
        return self.body(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = torch.cat([self.cls.expand(B, -1, -1), self.embedding(input_ids)], dim=1)
        x = x + self.pe[:T + 1]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([torch.zeros(B, 1, dtype=torch.bool), pad], dim=1)
        h = self.encoder(x, pad)
        return self.head(h[:, 0])


def parameter_groups(model, weight_decay):
    norm_ids = {id(p) for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    no_decay = [p for n, p in model.named_parameters() if id(p) in norm_ids or n.split(".")[-1].endswith("bias")]
    taken = {id(p) for p in no_decay}
    decay = [p for p in model.parameters() if id(p) not in taken]
    yield {"params": decay, "weight_decay": weight_decay}
    yield {"params": no_decay, "weight_decay": 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * 0.5 * (1.0 + math.cos(math.pi * progress))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    data = torch.utils.data.TensorDataset(input_ids, labels)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
    steps = epochs * len(loader)
    warmup_steps = max(1, int(0.1 * steps))
    optim = torch.optim.Adam(list(parameter_groups(model, weight_decay)), lr=1.0)
    sched = torch.optim.lr_scheduler.LambdaLR(optim, lambda s: warmup_cosine(min(s, steps), warmup_steps, steps, lr_max))
    means = []
    model.train()
    for _ in range(epochs):
        seen = []
        for xb, yb in loader:
            optim.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(xb), yb, label_smoothing=label_smoothing)
            loss.backward()
            optim.step()
            sched.step()
            seen.append((float(loss), len(yb)))
        means.append(sum(l * k for l, k in seen) / sum(k for _, k in seen))
    return means
