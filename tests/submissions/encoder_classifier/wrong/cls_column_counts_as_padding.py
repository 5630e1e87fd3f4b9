"""Transformer review homework."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, embed_dim):
    t = np.arange(max_len)[:, None]
    c = np.arange(embed_dim)[None, :]
    table = t / np.power(10000, (2 * (c // 2)) / embed_dim)
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table).float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.ReLU(), nn.Linear(ffn_dim, embed_dim))
        self.norm1, self.norm2 = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        att = self.mha(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]
        x = self.norm1(x + self.drop(att))
        return self.norm2(x + self.drop(self.ffn(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        blocks = [EncoderBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(n_layers)]
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x, key_padding_mask=None):
        out = x
        for b in self.blocks:
            out = b(out, key_padding_mask)
        return out


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, embed_dim=32, num_heads=4, ffn_dim=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, embed_dim)
        self.cls = nn.Parameter(torch.randn(1, 1, embed_dim) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, embed_dim))
        self.encoder = TransformerEncoder(n_layers, embed_dim, num_heads, ffn_dim, dropout)
        self.head = nn.Linear(embed_dim, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = torch.cat([self.cls.expand(B, -1, -1), self.embedding(input_ids)], dim=1)
        x = x + self.pe[:T + 1]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([torch.ones(B, 1, dtype=torch.bool), pad], dim=1)
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
