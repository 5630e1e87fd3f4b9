"""Encoder classifier for lesson 84.

embedding -> + positions -> 2 encoder layers -> pooling -> linear layer
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, d_model):
    positions = torch.arange(max_len).float()
    rates = 10000.0 ** (-torch.arange(0, d_model, 2).float() / d_model)
    angles = torch.outer(positions, rates)
    table = torch.empty(max_len, d_model)
    table[:, ::2], table[:, 1::2] = angles.sin(), angles.cos()
    return table


def padding_mask(input_ids, pad_id):
    return input_ids.eq(pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(
            d_model, n_heads, dropout=dropout, bias=False, batch_first=True
        )
        self.norm_a = nn.LayerNorm(d_model)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(dropout), nn.Linear(d_ff, d_model)
        )
        self.norm_b = nn.LayerNorm(d_model)

    def forward(self, x, key_padding_mask=None):
        x = self.norm_a(x + self.mha(x, x, x, key_padding_mask=key_padding_mask)[0])
        x = self.norm_b(x + self.feed_forward(x))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList()
        for _ in range(n_layers):
            self.layers.append(EncoderBlock(d_model, n_heads, d_ff, dropout))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
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
        self.embed = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.empty(1, 1, d_model).normal_(std=0.02))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.fc = nn.Linear(d_model, n_classes)
        self.register_buffer("pos", sinusoidal_positional_encoding(max_len, d_model))

    def forward(self, input_ids):
        x = self.embed(input_ids)
        x = torch.cat([self.cls.repeat(len(x), 1, 1), x], dim=1)
        x = x + self.pos[: x.size(1)]
        mask = F.pad(padding_mask(input_ids, self.pad_id), (1, 0))  # False for CLS
        x = self.encoder(x, mask)
        # one vector for the sentence: the mean of everything that is no padding
        real = (~mask).unsqueeze(-1).float()  # (B, T + 1, 1)
        sentence = (x * real).sum(dim=1) / real.sum(dim=1)
        return self.fc(sentence)


def parameter_groups(model, weight_decay):
    norms = [m for m in model.modules() if isinstance(m, nn.LayerNorm)]
    skip = {id(p) for norm in norms for p in norm.parameters()}
    skip |= {id(p) for name, p in model.named_parameters() if name.endswith("bias")}
    return [
        {
            "params": [p for p in model.parameters() if id(p) not in skip],
            "weight_decay": weight_decay,
        },
        {"params": [p for p in model.parameters() if id(p) in skip], "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step <= warmup_steps:
        return lr_max * step / warmup_steps
    done = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * math.cos(done * math.pi / 2) ** 2  # cos² x = (1 + cos 2x) / 2


def train(
    model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1
):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    model.train()
    losses = []
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, max(1, epochs // 8), epochs, lr_max)
        loss = loss_fn(model(input_ids), labels)
        loss.backward()
        optimizer.step()
        optimizer.zero_grad()
        losses.append(loss.item())
    return losses
