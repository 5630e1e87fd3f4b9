"""Fused qkv, head by head."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    """exp(i * angle) = cos + i sin"""
    angle = torch.outer(torch.arange(max_len).double(), 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model))
    z = torch.polar(torch.ones_like(angle), angle)
    return torch.stack([z.imag, z.real], dim=2).reshape(max_len, d_model).float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    """The rows of qkv lie head by head: q, k, v of head 0, then of head 1, ..."""

    def __init__(self, embed_dim, num_heads, ff_dim, drop=0.0):
        super().__init__()
        assert embed_dim % num_heads == 0
        self.h = num_heads
        self.qkv = nn.Linear(embed_dim, 3 * embed_dim)
        self.dense = nn.Linear(embed_dim, embed_dim)
        self.mlp_in = nn.Linear(embed_dim, ff_dim)
        self.mlp_out = nn.Linear(ff_dim, embed_dim)
        self.attn_norm = nn.LayerNorm(embed_dim)
        self.mlp_norm = nn.LayerNorm(embed_dim)
        self.drop = nn.Dropout(drop)

    def forward(self, x, key_padding_mask=None):
        B, T, D = x.shape
        if key_padding_mask is not None:
            x.masked_fill_(key_padding_mask.unsqueeze(-1), 0.0)
        qkv = self.qkv(x).view(B, T, self.h, 3 * D // self.h).transpose(1, 2)
        q, k, v = qkv.chunk(3, dim=-1)
        logits = (q @ k.mT) * (D // self.h) ** -0.5
        if key_padding_mask is not None:
            logits = logits.masked_fill(key_padding_mask.view(B, 1, 1, T), torch.finfo(logits.dtype).min)
        ctx = (logits.softmax(-1) @ v).transpose(1, 2).flatten(2)
        x = self.attn_norm(x + self.drop(self.dense(ctx)))
        return self.mlp_norm(x + self.drop(self.mlp_out(self.mlp_in(x).relu())))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x


class Pooler(nn.Module):
    """BERT's pooler: a hidden layer with tanh over [CLS]."""

    def __init__(self, d_model):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, hidden):
        return torch.tanh(self.dense(hidden[:, 0]))


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.d_model = pad_id, d_model
        self.word = nn.Embedding(vocab_size, d_model)
        self.special = nn.Embedding(1, d_model)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.pooler = Pooler(d_model)
        self.classify = nn.Linear(d_model, n_classes)

    def embed(self, input_ids):
        cls = self.special.weight.unsqueeze(0).expand(input_ids.size(0), -1, -1)
        x = torch.cat([cls, self.word(input_ids)], dim=1)
        return x + sinusoidal_positional_encoding(x.size(1), self.d_model)

    def forward(self, input_ids):
        mask = padding_mask(input_ids, self.pad_id)
        mask = torch.cat([torch.zeros_like(mask[:, :1]), mask], dim=1)
        hidden = self.encoder(self.embed(input_ids), mask)
        return self.classify(self.pooler(hidden))


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
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    losses = []
    model.train()
    for step in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup_steps, epochs, lr_max)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
