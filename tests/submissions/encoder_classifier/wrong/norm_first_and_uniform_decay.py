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


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return input_ids.eq(pad_id)


class EncoderBlock(nn.TransformerEncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(d_model=d_model, nhead=n_heads, dim_feedforward=d_ff, dropout=dropout, batch_first=True, norm_first=True)

    def forward(self, x, key_padding_mask=None):
        return super().forward(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        proto = nn.TransformerEncoderLayer(d_model=d_model, nhead=n_heads, dim_feedforward=d_ff, dropout=dropout, batch_first=True, norm_first=True)
        self.body = nn.TransformerEncoder(proto, num_layers=n_layers, enable_nested_tensor=False)

    def forward(self, x, key_padding_mask=None):
        return self.body(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoderClassifier(nn.Module):
    """an extra row of the embedding table is [CLS]"""

    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.cls_id = pad_id, vocab_size
        self.tok = nn.Embedding(vocab_size + 1, d_model)
        self.table = nn.Buffer(sinusoidal_positional_encoding(max_len + 1, d_model))
        self.drop = nn.Dropout(dropout)
        self.enc = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.out = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        hidden = self.tok(ids) + self.table[:ids.size(1)].unsqueeze(0)
        hidden = self.enc(self.drop(hidden), padding_mask(ids, self.pad_id))
        return self.out(hidden[:, 0, :])


def parameter_groups(model, weight_decay):
    return [{"params": [p for p in model.parameters() if p.requires_grad], "weight_decay": weight_decay}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    return (lr_max * (step / warmup_steps) if step < warmup_steps
            else lr_max / 2 * (1 + float(np.cos(np.pi * (step - warmup_steps) / (total_steps - warmup_steps)))))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01,
          label_smoothing=0.1, batch_size=8):
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    n = len(labels)
    n_batches = math.ceil(n / batch_size)
    total = epochs * n_batches
    warmup = max(1, total // 10)
    history, step = [], 0
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        running = 0.0
        for i in range(n_batches):
            idx = order[i * batch_size:(i + 1) * batch_size]
            lr = warmup_cosine(step, warmup, total, lr_max)
            for group in optimizer.param_groups:
                group["lr"] = lr
            loss = criterion(model(input_ids[idx]), labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            running += loss.item() * len(idx)
        history.append(running / n)
    return history
