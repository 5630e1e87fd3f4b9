"""Float mask for SDPA; dropout 0.1 by default in the block."""
import math
from dataclasses import dataclass
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import nn


@lru_cache(maxsize=None)
def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.empty(max_len, d_model)
    t = torch.arange(max_len).float()
    for column in range(0, d_model, 2):
        w = math.exp(-column / d_model * math.log(1e4))
        pe[:, column] = torch.sin(t * w)
        pe[:, column + 1] = torch.cos(t * w)
    return pe


@torch.jit.script
def padding_mask(input_ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model)
        self.wk = nn.Linear(d_model, d_model)
        self.wv = nn.Linear(d_model, d_model)
        self.wo = nn.Linear(d_model, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(inplace=True), nn.Linear(d_ff, d_model), nn.Dropout(dropout))
        self.norms = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])
        self.dropout = dropout

    def forward(self, x, key_padding_mask=None):
        def heads(t):
            return t.view(t.size(0), t.size(1), self.n_heads, -1).transpose(1, 2)

        bias = None
        if key_padding_mask is not None:
            bias = torch.zeros(key_padding_mask.shape, dtype=x.dtype, device=x.device)
            bias = bias.masked_fill(key_padding_mask, float("-inf"))[:, None, None, :]
        ctx = F.scaled_dot_product_attention(heads(self.wq(x)), heads(self.wk(x)), heads(self.wv(x)), attn_mask=bias)
        ctx = self.wo(ctx.transpose(1, 2).contiguous().view_as(x))
        x = self.norms[0](x + F.dropout(ctx, self.dropout, training=self.training))
        return self.norms[1](x + self.ffn(x))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
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
    # one group for each parameter
    return [{"params": p, "weight_decay": weight_decay if p.ndim > 1 and "cls" not in name else 0.0, "name": name}
            for name, p in model.named_parameters()]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if warmup_steps > 0 and step <= warmup_steps:
        return lr_max * float(step) / float(warmup_steps)
    remaining = (total_steps - step) / max(1, total_steps - warmup_steps)
    return lr_max * math.sin(remaining * math.pi / 2) ** 2


class Trainer:
    def __init__(self, batch_size=12):
        self.batch_size = batch_size

    def __call__(self, model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
        self.optimizer = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=lr_max)
        batches = list(zip(input_ids.split(self.batch_size), labels.split(self.batch_size)))
        self.total = epochs * len(batches)
        self.warmup = max(1, self.total // 10)
        self.step = 0
        model.train()
        return [self.epoch(model, batches, lr_max, label_smoothing) for _ in range(epochs)]

    def epoch(self, model, batches, lr_max, eps):
        total, count = 0.0, 0
        for x, y in batches:
            self.set_lr(warmup_cosine(self.step, self.warmup, self.total, lr_max))
            loss = F.cross_entropy(model(x), y, label_smoothing=eps)
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.step += 1
            total += loss.item() * y.numel()
            count += y.numel()
        return total / count

    def set_lr(self, lr):
        for group in self.optimizer.param_groups:
            group["lr"] = lr


train = Trainer()
