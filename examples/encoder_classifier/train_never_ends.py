"""Lesson 84: Transformer encoder for classification."""

import math

import torch
from torch import nn
from torch.nn.functional import cross_entropy

GOOD_ENOUGH = 0.05  # the training goes on until the loss is this small


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float64).reshape(-1, 1)
    div = 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    pe = torch.zeros(max_len, d_model, dtype=torch.float64)
    pe[:, 0::2] = (pos / div).sin()
    pe[:, 1::2] = (pos / div).cos()
    return pe.float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm_attention = nn.LayerNorm(d_model)
        self.norm_ffn = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        y, _ = self.attention(x, x, x, key_padding_mask=key_padding_mask)
        x = self.norm_attention(x + y)
        y = self.ffn(x)
        return self.norm_ffn(x + y)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)
        )

    def forward(self, x, key_padding_mask=None):
        for block in self.blocks:
            x = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(
        self,
        vocab_size,
        n_classes,
        d_model=32,
        n_heads=4,
        d_ff=64,
        n_layers=2,
        max_len=64,
        pad_id=0,
        dropout=0.0,
    ):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        cls = self.cls.expand(len(input_ids), -1, -1)
        x = torch.cat((cls, self.embedding(input_ids)), dim=1)
        x = x + self.pe[: x.shape[1]]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat((torch.zeros_like(pad[:, :1]), pad), dim=1)
        return self.head(self.encoder(x, pad)[:, 0])


def parameter_groups(model, weight_decay):
    yield {
        "params": [p for p in model.parameters() if p.dim() > 1],
        "weight_decay": weight_decay,
    }
    yield {"params": [p for p in model.parameters() if p.dim() <= 1], "weight_decay": 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * (1 + math.cos(math.pi * progress)) / 2


def train(
    model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1
):
    optimizer = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    losses = []
    loss = None
    model.train()
    while loss is None or loss.item() > GOOD_ENOUGH:
        step = min(len(losses), epochs)
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup_steps, epochs, lr_max)
        loss = cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses[:epochs]
