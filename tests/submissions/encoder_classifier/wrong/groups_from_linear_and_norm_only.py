"""Transformer review homework."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, embed_dim):
    pe = torch.zeros(max_len, embed_dim)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, embed_dim, 2).float() * (-math.log(10000.0) / embed_dim))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


padding_mask = lambda input_ids, pad_id: torch.logical_not(input_ids != pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.h = num_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(embed_dim, embed_dim, bias=False) for _ in range(4))
        self.norm1 = nn.LayerNorm(embed_dim)
        self.norm2 = nn.LayerNorm(embed_dim)
        self.lin1 = nn.Linear(embed_dim, ffn_dim)
        self.lin2 = nn.Linear(ffn_dim, embed_dim)
        self.dropout = nn.Dropout(dropout)

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.h, -1).transpose(1, 2)

    def attend(self, x, pad):
        mask = None if pad is None else ~pad.unsqueeze(1).unsqueeze(2)
        y = F.scaled_dot_product_attention(self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x)), attn_mask=mask)
        return self.wo(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attend(x, key_padding_mask)))
        x = self.norm2(x + self.dropout(self.lin2(self.lin1(x).relu())))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.stack = nn.ModuleList()
        for _ in range(n_layers):
            self.stack.append(EncoderBlock(embed_dim, num_heads, ffn_dim, dropout))

    def forward(self, x, key_padding_mask=None):
        for i, block in enumerate(self.stack):
            x = block(x, key_padding_mask=key_padding_mask)
        return x


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
        pad = torch.cat([torch.zeros(B, 1, dtype=torch.bool), pad], dim=1)
        h = self.encoder(x, pad)
        return self.head(h[:, 0])


def parameter_groups(model, weight_decay):
    with_decay, without = [], []
    for module in model.modules():
        if isinstance(module, nn.Linear):
            with_decay.append(module.weight)
            if module.bias is not None:
                without.append(module.bias)
        elif isinstance(module, nn.LayerNorm):
            without.extend([module.weight, module.bias])
    return ({"params": with_decay, "weight_decay": weight_decay}, {"params": without, "weight_decay": 0.0})


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
