"""Abstract base class, typed, additive float masks, extra keyword-only options everywhere."""
from abc import ABC, abstractmethod
from typing import Iterable, Iterator, List, Optional
import math

import torch
from torch import Tensor, nn

__all__ = ["sinusoidal_positional_encoding", "padding_mask", "EncoderBlock", "TransformerEncoder",
           "TransformerEncoderClassifier", "parameter_groups", "warmup_cosine", "train"]


def sinusoidal_positional_encoding(max_len: int, d_model: int, *, dtype=torch.float32, device=None) -> Tensor:
    pe = torch.empty(max_len, d_model, dtype=torch.float64, device=device)
    pos = torch.linspace(0, max_len - 1, max_len, dtype=torch.float64, device=device)
    for i in range(0, d_model, 2):
        w = 10000.0 ** (-i / d_model)
        pe[:, i] = (pos * w).sin()
        pe[:, i + 1] = (pos * w).cos()
    return pe.to(dtype)


def padding_mask(input_ids: Tensor, pad_id: int, *, prepend: int = 0) -> Tensor:
    m = input_ids.eq(pad_id)
    return m if not prepend else torch.cat([m.new_zeros(m.size(0), prepend), m], dim=1)


class Sublayer(ABC, nn.Module):
    def __init__(self, width: int, rate: float):
        super().__init__()
        self.layernorm = nn.LayerNorm(width)
        self.drop = nn.Dropout(rate)

    @abstractmethod
    def transform(self, x: Tensor, bias: Optional[Tensor]) -> Tensor: ...

    def forward(self, x: Tensor, bias: Optional[Tensor] = None) -> Tensor:
        return self.layernorm(x + self.drop(self.transform(x, bias)))


class Attend(Sublayer):
    def __init__(self, width, heads, rate):
        super().__init__(width, rate)
        self.core = nn.MultiheadAttention(width, heads, batch_first=True)

    def transform(self, x, bias):
        return self.core(x, x, x, key_padding_mask=bias, need_weights=False)[0]


class Think(Sublayer):
    def __init__(self, width, inner, rate):
        super().__init__(width, rate)
        self.mlp = nn.Sequential(nn.Linear(width, inner), nn.ReLU(), nn.Linear(inner, width))

    def transform(self, x, bias):
        return self.mlp(x)


class EncoderBlock(nn.Module):
    def __init__(self, d_model: int, n_heads: int, d_ff: int, dropout: float = 0.2, *, name: str = "block"):
        super().__init__()
        self.name = name
        self.attend, self.think = Attend(d_model, n_heads, dropout), Think(d_model, d_ff, dropout)

    def forward(self, x: Tensor, key_padding_mask: Optional[Tensor] = None, *, verbose: bool = False) -> Tensor:
        bias = None
        if key_padding_mask is not None:
            bias = torch.zeros(key_padding_mask.shape, dtype=x.dtype, device=x.device)
            bias = bias.masked_fill(key_padding_mask.bool(), float("-inf"))
        if verbose:
            print(self.name, tuple(x.shape))
        return self.think(self.attend(x, bias))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.2):
        super().__init__()
        self._blocks = [EncoderBlock(d_model, n_heads, d_ff, dropout, name=f"b{i}") for i in range(n_layers)]
        for i, b in enumerate(self._blocks):
            self.add_module(f"b{i}", b)              # registered one by one

    def forward(self, x, key_padding_mask=None):
        for b in self._blocks:
            x = b(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model).unsqueeze(0))

    def forward(self, input_ids: Tensor) -> Tensor:
        x = self.embedding(input_ids)
        x = torch.cat([self.cls.expand(x.size(0), -1, -1), x], dim=1)
        x = x + self.pe[:, : x.size(1)]
        x = self.encoder(x, padding_mask(input_ids, self.pad_id, prepend=1))
        return self.head(x[:, 0])


def parameter_groups(model: nn.Module, weight_decay: float) -> List[dict]:
    exempt = (nn.LayerNorm, nn.Embedding)
    decay, rest, seen = [], [], set()
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if id(p) in seen:
                continue
            seen.add(id(p))
            if isinstance(module, exempt) or name.endswith("bias") or name == "cls":
                rest.append(p)
            else:
                decay.append(p)
    return [dict(params=decay, weight_decay=weight_decay), dict(params=rest, weight_decay=0.0)]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    if step < warmup_steps:
        return lr_max * float(step) / float(max(1, warmup_steps))
    progress = float(step - warmup_steps) / float(max(1, total_steps - warmup_steps))
    return max(0.0, lr_max * 0.5 * (1.0 + math.cos(math.pi * progress)))


def batches(n: int, size: int) -> Iterator[Tensor]:
    yield from torch.randperm(n).split(size)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1,
          *, batch_size=8, warmup_fraction=0.1, log: Optional[Iterable] = None):
    n = input_ids.size(0)
    total = math.ceil(n / batch_size) * epochs
    warmup = max(1, int(warmup_fraction * total))
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lr_lambda=lambda s: warmup_cosine(s, warmup, total, lr_max) / lr_max)
    result = []
    for epoch in range(epochs):
        model.train()
        losses = torch.zeros(())
        for idx in batches(n, batch_size):
            optimizer.zero_grad()
            loss = nn.functional.cross_entropy(model(input_ids[idx]), labels[idx], label_smoothing=label_smoothing)
            loss.backward()
            optimizer.step()
            scheduler.step()
            losses += loss.detach() * idx.numel()
        result.append((losses / n).item())
    model.eval()
    return result
