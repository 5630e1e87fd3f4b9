"""Transformer review homework."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, embed_dim):
    pe = torch.zeros(max_len, embed_dim)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(2 * torch.arange(0, embed_dim, 2).float() * (-math.log(10000.0) / embed_dim))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return input_ids.eq(pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(embed_dim, num_heads, dropout=dropout, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(embed_dim, ffn_dim), nn.ReLU(), nn.Linear(ffn_dim, embed_dim))
        self.norm_a, self.norm_b = nn.LayerNorm(embed_dim), nn.LayerNorm(embed_dim)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        att = self.mha(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]
        x = self.norm_a(x + self.drop(att))
        return self.norm_b(x + self.drop(self.ffn(x)))


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
    """an extra row of the embedding table is [CLS]"""

    def __init__(self, vocab_size, n_classes, embed_dim=32, num_heads=4, ffn_dim=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.cls_id = pad_id, vocab_size
        self.tok = nn.Embedding(vocab_size + 1, embed_dim)
        self.table = nn.Buffer(sinusoidal_positional_encoding(max_len + 1, embed_dim))
        self.drop = nn.Dropout(dropout)
        self.enc = TransformerEncoder(n_layers, embed_dim, num_heads, ffn_dim, dropout)
        self.out = nn.Linear(embed_dim, n_classes)

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        hidden = self.tok(ids) + self.table[:ids.size(1)].unsqueeze(0)
        hidden = self.enc(self.drop(hidden), padding_mask(ids, self.pad_id))
        return self.out(hidden[:, 0, :])


def parameter_groups(model, weight_decay):
    groups = {True: [], False: []}
    for name, p in model.named_parameters():
        skip = name.endswith("bias") or "norm" in name or "ln1" in name or "ln2" in name
        groups[skip].append(p)
    return [dict(params=groups[False], weight_decay=weight_decay),
            dict(params=groups[True], weight_decay=0.0)]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * (1.0 - progress)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    adamw = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    ramp = max(1, epochs // 10)
    losses = []
    for epoch in range(epochs):
        model.train()
        for g in adamw.param_groups:
            g["lr"] = warmup_cosine(epoch, ramp, epochs, lr_max)
        adamw.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        adamw.step()
        losses.append(loss.item())
    return losses
