from __future__ import annotations

import math
from typing import Optional

import torch
import torch.nn.functional as F
from torch import Tensor, nn
from torch.optim.lr_scheduler import LambdaLR
from torch.utils.data import DataLoader, TensorDataset

BATCH_SIZE = 8


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> Tensor:
    pos = torch.arange(max_len, dtype=torch.float32)[:, None]
    two_i = torch.arange(0, d_model, 2, dtype=torch.float32)[None, :]
    angle = pos / torch.pow(torch.tensor(10000.0), two_i / d_model)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1)


def padding_mask(input_ids: Tensor, pad_id: int) -> Tensor:
    return input_ids.eq(pad_id)


class SelfAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int, dropout: float = 0.0) -> None:
        super().__init__()
        if d_model % n_heads:
            raise ValueError(f"{n_heads} heads do not divide {d_model}")
        self.n_heads = n_heads
        self.dropout = dropout
        self.qkv = nn.Linear(d_model, 3 * d_model, bias=False)
        self.proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x: Tensor, key_padding_mask: Optional[Tensor] = None) -> Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.n_heads, d // self.n_heads).permute(2, 0, 3, 1, 4)
        attn_mask = None
        if key_padding_mask is not None:
            attn_mask = ~key_padding_mask[:, None, None, :]
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=attn_mask,
                                           dropout_p=self.dropout if self.training else 0.0)
        return self.proj(y.transpose(1, 2).reshape(b, t, d))


class FeedForward(nn.Module):
    def __init__(self, d_model: int, d_ff: int) -> None:
        super().__init__()
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)

    def forward(self, x: Tensor) -> Tensor:
        return self.down(torch.relu(self.up(x)))


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.attn = SelfAttention(d_model, n_heads, dropout)
        self.ffn = FeedForward(d_model, d_ff)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x: Tensor, key_padding_mask: Optional[Tensor] = None) -> Tensor:
        x = self.ln1(x + self.drop(self.attn(x, key_padding_mask)))
        return self.ln2(x + self.drop(self.ffn(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers: int, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.0) -> None:
        super().__init__()
        self.blocks = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x: Tensor, key_padding_mask: Optional[Tensor] = None) -> Tensor:
        for block in self.blocks:
            x = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size: int, n_classes: int, d_model: int = 32, n_heads: int = 4, d_ff: int = 64,
                 n_layers: int = 2, max_len: int = 64, pad_id: int = 0, dropout: float = 0.0) -> None:
        super().__init__()
        self.pad_id = pad_id
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.classifier = nn.Linear(d_model, n_classes)
        self.register_buffer("positions", sinusoidal_positional_encoding(max_len + 1, d_model), persistent=False)

    def forward(self, input_ids: Tensor) -> Tensor:
        tokens = self.embed(input_ids)
        x = tokens
        x = x + self.positions[: x.size(1)]
        pad = padding_mask(input_ids, self.pad_id)
        return self.classifier(self.encoder(x, pad)[:, 0])


def parameter_groups(model: nn.Module, weight_decay: float) -> list[dict]:
    decay, rest = [], []
    for name, p in model.named_parameters():
        if name.endswith("bias") or ".ln" in name:
            rest.append(p)
        else:
            decay.append(p)
    return [dict(params=decay, weight_decay=weight_decay), dict(params=rest, weight_decay=0.0)]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    if step < warmup_steps:
        return lr_max * (step / warmup_steps)
    t = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * lr_max * (1 + math.cos(math.pi * t))


def train(model: nn.Module, input_ids: Tensor, labels: Tensor, epochs: int = 50, lr_max: float = 1e-3,
          weight_decay: float = 0.01, label_smoothing: float = 0.1) -> list[float]:
    loader = DataLoader(TensorDataset(input_ids, labels), batch_size=BATCH_SIZE, shuffle=True)
    total = epochs * len(loader)
    warmup = max(1, total // 10)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=1.0)
    scheduler = LambdaLR(optimizer, lambda step: warmup_cosine(step, warmup, total, lr_max))
    history: list[float] = []
    model.train()
    for _ in range(epochs):
        running = 0.0
        for xb, yb in loader:
            optimizer.zero_grad()
            loss = F.cross_entropy(model(xb), yb, label_smoothing=label_smoothing)
            loss.backward()
            optimizer.step()
            scheduler.step()
            running += loss.item() * xb.size(0)
        history.append(running / len(input_ids))
    return history
