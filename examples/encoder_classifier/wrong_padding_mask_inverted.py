"""Lesson 84: sentences -> classes.

Mask convention in this file, as in Hugging Face: True (1) = real token, False (0) = padding.
"""

import math

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    pos = torch.arange(max_len)[:, None]
    dim = torch.arange(d_model)[None, :]
    angle = pos / 10000 ** (2 * (dim // 2) / d_model)
    return torch.where(dim % 2 == 0, angle.sin(), angle.cos())


def padding_mask(input_ids: Tensor, pad_id: int) -> Tensor:
    return input_ids != pad_id


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0):
        super().__init__()
        self.n_heads = n_heads
        self.dropout = dropout
        self.qkv = nn.Linear(d_model, 3 * d_model)
        self.proj = nn.Linear(d_model, d_model)
        self.ln_1 = nn.LayerNorm(d_model)
        self.ln_2 = nn.LayerNorm(d_model)
        self.ff_in = nn.Linear(d_model, d_ff)
        self.ff_out = nn.Linear(d_ff, d_model)

    def attention(self, x: Tensor, mask: Tensor | None) -> Tensor:
        q, k, v = (
            part.unflatten(-1, (self.n_heads, -1)).transpose(1, 2)
            for part in self.qkv(x).chunk(3, dim=-1)
        )
        if mask is not None:
            mask = mask[:, None, None, :]
        # F.scaled_dot_product_attention looks where the mask is True
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        return self.proj(out.transpose(1, 2).flatten(-2))

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        a = F.dropout(self.attention(x, key_padding_mask), self.dropout, self.training)
        x = self.ln_1(x + a)
        f = F.dropout(self.ff_out(F.relu(self.ff_in(x))), self.dropout, self.training)
        return self.ln_2(x + f)


class TransformerEncoder(nn.Module):
    def __init__(
        self, n_layers: int, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0
    ):
        super().__init__()
        self.h = nn.ModuleList(
            EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)
        )

    def forward(self, x: Tensor, key_padding_mask: Tensor | None = None) -> Tensor:
        for block in self.h:
            x = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(
        self,
        vocab_size: int,
        n_classes: int,
        d_model: int = 32,
        n_heads: int = 4,
        d_ff: int = 64,
        n_layers: int = 2,
        max_len: int = 64,
        pad_id: int = 0,
        dropout: float = 0.0,
    ):
        super().__init__()
        self.pad_id = pad_id
        self.wte = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(d_model))
        self.register_buffer("wpe", sinusoidal_positional_encoding(max_len, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids: Tensor) -> Tensor:
        cls = self.cls.expand(input_ids.size(0), 1, -1)
        x = torch.cat([cls, self.wte(input_ids)], dim=1)
        x = x + self.wpe[: x.size(1)]
        # CLS counts as a real token
        mask = F.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=True)
        return self.head(self.encoder(x, mask)[:, 0])


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    matrices = [p for p in model.parameters() if p.dim() >= 2]
    vectors = [p for p in model.parameters() if p.dim() < 2]
    return [
        {"params": matrices, "weight_decay": weight_decay},
        {"params": vectors, "weight_decay": 0.0},
    ]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    ratio = (step - warmup_steps) / (total_steps - warmup_steps)
    return 0.5 * lr_max * (1.0 + math.cos(math.pi * ratio))


def train(
    model: nn.Module,
    input_ids: Tensor,
    labels: Tensor,
    epochs: int = 50,
    lr_max: float = 1e-3,
    weight_decay: float = 0.01,
    label_smoothing: float = 0.1,
) -> list[float]:
    batch_size = 16
    per_epoch = math.ceil(len(labels) / batch_size)
    total_steps = per_epoch * epochs
    warmup_steps = max(1, total_steps // 10)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    model.train()
    losses, step = [], 0
    for _ in range(epochs):
        order = torch.randperm(len(labels))
        epoch_loss = 0.0
        for start in range(0, len(labels), batch_size):
            idx = order[start : start + batch_size]
            for group in optimizer.param_groups:
                group["lr"] = warmup_cosine(step, warmup_steps, total_steps, lr_max)
            logits = model(input_ids[idx])
            loss = F.cross_entropy(logits, labels[idx], label_smoothing=label_smoothing)
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
            step += 1
            epoch_loss += loss.item() * len(idx)
        losses.append(epoch_loss / len(labels))
    return losses
