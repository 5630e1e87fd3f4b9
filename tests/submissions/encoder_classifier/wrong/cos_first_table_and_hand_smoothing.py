import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, D):
    i = torch.arange(D // 2, dtype=torch.float64)
    freq = 10000.0 ** (-2 * i / D)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.cos(), angle.sin()), dim=-1).flatten(1).float()


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return input_ids.eq(pad_id)


class EncoderBlock(nn.Module):
    """PyTorch's own layer under our name"""

    def __init__(self, D, H, inner, dropout=0.0):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(D, H, inner, dropout, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return self.layer(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, D, H, inner, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(D, H, inner, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, D=32, H=4, inner=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, D)
        self.cls = nn.Parameter(torch.randn(1, 1, D) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, D))
        self.encoder = TransformerEncoder(n_layers, D, H, inner, dropout)
        self.head = nn.Linear(D, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = torch.cat([self.cls.expand(B, -1, -1), self.embedding(input_ids)], dim=1)
        x = x + self.pe[:T + 1]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([torch.zeros(B, 1, dtype=torch.bool), pad], dim=1)
        h = self.encoder(x, pad)
        return self.head(h[:, 0])


def parameter_groups(model, weight_decay):
    groups = {True: [], False: []}
    for name, p in model.named_parameters():
        skip = name.endswith("bias") or "norm" in name or "ln1" in name or "ln2" in name
        groups[skip].append(p)
    return [dict(params=groups[False], weight_decay=weight_decay),
            dict(params=groups[True], weight_decay=0.0)]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    rise = step / max(warmup_steps, 1)
    done = max(0, step - warmup_steps) / max(1, total_steps - warmup_steps)
    fall = math.cos(math.pi / 2 * min(1.0, done)) ** 2
    return float(lr_max * min(rise, fall) if step < warmup_steps else lr_max * fall)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimiser = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warm = max(1, epochs // 10)
    losses = []
    for epoch in range(epochs):
        model.train()
        for g in optimiser.param_groups:
            g["lr"] = warmup_cosine(epoch, warm, epochs, lr_max)
        optimiser.zero_grad()
        logp = model(input_ids).log_softmax(-1)
        k = logp.size(-1)
        target = torch.full_like(logp, label_smoothing / (k - 1))
        target.scatter_(1, labels[:, None], 1 - label_smoothing)
        loss = -(target * logp).sum(-1).mean()
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    return losses
