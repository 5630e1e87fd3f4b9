import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    # every pair turns by its own angle from one position to the next
    omega = torch.tensor([10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)], dtype=torch.float64)
    turn_cos, turn_sin = torch.cos(omega), torch.sin(omega)
    s, c = torch.zeros_like(omega), torch.ones_like(omega)
    rows = []
    for _ in range(max_len):
        rows.append(torch.stack([s, c], dim=1).flatten())
        s, c = s * turn_cos + c * turn_sin, c * turn_cos - s * turn_sin
    return torch.stack(rows).to(torch.float32)


def padding_mask(input_ids, pad_id):
    return torch.tensor([[int(token) == pad_id for token in row] for row in input_ids.tolist()])


class EncoderBlock(nn.TransformerEncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(d_model, n_heads, d_ff, dropout, activation="relu", batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return super().forward(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.TransformerEncoder):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout, batch_first=True)
        super().__init__(layer, n_layers, enable_nested_tensor=False)

    def forward(self, x, key_padding_mask=None):
        return super().forward(x, src_key_padding_mask=key_padding_mask)


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
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    t = torch.tensor((step - warmup_steps) / max(1, total_steps - warmup_steps), dtype=torch.float64)
    return (lr_max * 0.5 * (1 + torch.cos(torch.pi * t))).item()


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=1.0, fused=True)
    steps_per_epoch = math.ceil(len(input_ids) / 10)
    total = steps_per_epoch * epochs
    sched = torch.optim.lr_scheduler.LambdaLR(opt, partial(warmup_cosine, warmup_steps=max(1, total // 6), total_steps=total, lr_max=lr_max))
    losses = []
    for epoch in range(epochs):
        running = []
        for i in range(steps_per_epoch):
            model.train()
            x, y = input_ids[i * 10:(i + 1) * 10], labels[i * 10:(i + 1) * 10]
            model.zero_grad()
            loss = F.cross_entropy(model(x), y, label_smoothing=label_smoothing)
            loss.backward()
            opt.step()
            sched.step()
            running.append(loss.detach())
        losses.append(torch.stack(running).mean().item())
    return losses
