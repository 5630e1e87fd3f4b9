"""ParameterDict; block returns a pair."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    half = d_model // 2
    wavelengths = torch.logspace(0, 4 * (half - 1) / half, half, base=10.0, dtype=torch.float64)
    angles = torch.arange(max_len).unsqueeze(1) / wavelengths.unsqueeze(0)
    pe = torch.zeros(max_len, half, 2, dtype=torch.float64)
    pe[..., 0], pe[..., 1] = torch.sin(angles), torch.cos(angles)
    return pe.view(max_len, d_model).float()


class Masks:
    @staticmethod
    def padding(input_ids, pad_id):
        return (input_ids == pad_id).bool()


padding_mask = Masks.padding


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
        for block in self.blocks:
            x, _ = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.vocab_size = pad_id, vocab_size
        self.lookup = nn.Linear(vocab_size, d_model, bias=False)
        nn.init.normal_(self.lookup.weight)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        self.pe = sinusoidal_positional_encoding(max_len + 1, d_model)      # a plain tensor
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.readout = nn.Linear(d_model, n_classes, bias=False)

    def forward(self, input_ids):
        one_hot = F.one_hot(input_ids, self.vocab_size).float()
        x = torch.cat([self.cls.expand(len(input_ids), 1, -1), self.lookup(one_hot)], dim=1)
        x = x + self.pe[: x.shape[1]].to(x.device)
        valid = torch.cat([torch.ones(len(input_ids), 1, dtype=torch.bool), ~padding_mask(input_ids, self.pad_id)], dim=1)
        x = self.encoder(x, ~valid)
        return self.readout(x[:, 0])


def parameter_groups(model, weight_decay):
    return [
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return step / warmup_steps * lr_max
    x = (step - warmup_steps) / max(total_steps - warmup_steps, 1)
    return lr_max * math.cos(0.5 * math.pi * x) ** 2          # (1 + cos 2a) / 2 = cos^2 a


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    """Gradients of small pieces are added up; one step an epoch."""
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, [lambda s: warmup_cosine(s, max(1, epochs // 10), epochs, lr_max) / lr_max] * len(optimizer.param_groups))
    n = len(labels)
    model.train()
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss_sum = 0.0
        for x, y in zip(input_ids.split(7), labels.split(7)):
            part = F.cross_entropy(model(x), y, label_smoothing=label_smoothing, reduction="sum") / n
            part.backward()
            loss_sum += part.item()
        optimizer.step()
        scheduler.step()
        losses.append(loss_sum)
    return losses
