import math
import re
from dataclasses import dataclass

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


@torch.jit.script
def padding_mask(input_ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.self_attn = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, bias=False)   # (T, B, D)
        self.linear1 = nn.Linear(d_model, d_ff)
        self.linear2 = nn.Linear(d_ff, d_model)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        """-> output, attention weights (B, H, T, T)"""
        z = x.transpose(0, 1)
        a, weights = self.self_attn(z, z, z, key_padding_mask=key_padding_mask, average_attn_weights=False)
        x = self.norm1(x + self.dropout(a.transpose(0, 1)))
        x = self.norm2(x + self.dropout(self.linear2(F.relu(self.linear1(x)))))
        return x, weights


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self.blocks:
            x, _ = block(x, key_padding_mask)
        return x


@dataclass(frozen=True)
class ModelConfig:
    vocab_size: int
    n_classes: int
    d_model: int
    n_heads: int
    d_ff: int
    n_layers: int
    max_len: int
    pad_id: int
    dropout: float


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.config = c = ModelConfig(vocab_size, n_classes, d_model, n_heads, d_ff, n_layers, max_len, pad_id, dropout)
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.cls = nn.Parameter(torch.empty(c.d_model))
        self.encoder = TransformerEncoder(c.n_layers, c.d_model, c.n_heads, c.d_ff, c.dropout)
        self.head = nn.Linear(c.d_model, c.n_classes)
        self.register_buffer("positions", sinusoidal_positional_encoding(c.max_len + 1, c.d_model))
        self.apply(self._init)
        nn.init.trunc_normal_(self.cls, std=0.02)

    @staticmethod
    def _init(module):
        if isinstance(module, nn.Linear):
            nn.init.orthogonal_(module.weight)
            if module.bias is not None:
                nn.init.zeros_(module.bias)
        elif isinstance(module, nn.Embedding):
            nn.init.normal_(module.weight, std=0.5)

    def forward(self, input_ids):
        if input_ids.size(1) > self.config.max_len:
            raise ValueError("sentence too long")
        tokens = self.embedding(input_ids)
        x = torch.empty(tokens.size(0), tokens.size(1) + 1, tokens.size(2))
        x[:, 0] = self.cls
        x[:, 1:] = tokens
        x = x + self.positions[: x.size(1)]
        ignore = torch.zeros(x.shape[:2], dtype=torch.bool)
        ignore[:, 1:] = padding_mask(input_ids, self.config.pad_id)
        return self.head(self.encoder(x, ignore)[:, 0])


def parameter_groups(model, weight_decay):
    exempt = re.compile(r"(bias|norm|ln|cls|b[12]$|gain|shift|beta|gamma|alpha|offset)", re.I)
    decay, free = [], []
    for name, p in model.named_parameters():
        (free if exempt.search(name) and (p.ndim < 2 or "cls" in name) else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if warmup_steps > 0 and step <= warmup_steps:
        return lr_max * float(step) / float(warmup_steps)
    remaining = (total_steps - step) / max(1, total_steps - warmup_steps)
    return lr_max * math.sin(remaining * math.pi / 2) ** 2


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    n, size = input_ids.size(0), 8
    n_batches = -(-n // size)
    total = epochs * n_batches
    warm = max(1, total // 12)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=0.0)
    step, losses = 0, []
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        summed = 0.0
        for rows in order.split(size):
            optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = warmup_cosine(step, warm, total, lr_max)
            logp = model(input_ids[rows]).log_softmax(-1)
            right = logp[torch.arange(len(rows)), labels[rows]]
            per_item = -(1 - label_smoothing) * right - label_smoothing * logp.mean(-1)
            optimizer.zero_grad()
            per_item.mean().backward()
            optimizer.step()
            step += 1
            summed += per_item.sum().item()
        losses.append(summed / n)
    return losses
