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


padding_mask = lambda input_ids, pad_id: input_ids.eq(pad_id)


class AttentionMixin:
    def build_attention(self, d_model, n_heads):
        self.n_heads = n_heads
        for letter in "qkvo":
            setattr(self, "lin_" + letter, nn.Linear(d_model, d_model, bias=letter == "o"))

    def attend(self, x, ignore):
        b, t, d = x.shape
        q, k, v = (getattr(self, "lin_" + letter)(x).view(b, t, self.n_heads, -1).transpose(1, 2) for letter in "qkv")
        keep = None if ignore is None else ~ignore.view(b, 1, 1, t)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.lin_o(y.transpose(1, 2).reshape(b, t, d))


class FeedForwardMixin:
    def build_ffn(self, d_model, d_ff):
        self.lin_1 = nn.Linear(d_model, d_ff)
        self.lin_2 = nn.Linear(d_ff, d_model)

    def transform(self, x):
        return self.lin_2(self.lin_1(x).relu())


class EncoderBlock(AttentionMixin, FeedForwardMixin, nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.build_attention(d_model, n_heads)
        self.build_ffn(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attend(x, key_padding_mask)))
        return self.norm2(x + self.dropout(self.transform(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.first = EncoderBlock(d_model, n_heads, d_ff, dropout)
        self.rest = TransformerEncoder(n_layers - 1, d_model, n_heads, d_ff, dropout) if n_layers > 1 else None

    def forward(self, x, key_padding_mask=None):
        x = self.first(x, key_padding_mask)
        if self.rest is not None:
            x = self.rest(x, key_padding_mask)
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
    # TODO
    pass


def _old_groups(model, weight_decay):
    big = lambda p: p.dim() > 1
    small = lambda p: p.dim() <= 1
    return [dict(params=filter(big, model.parameters()), weight_decay=weight_decay),
            dict(params=filter(small, model.parameters()), weight_decay=0.0)]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    t = torch.tensor((step - warmup_steps) / max(1, total_steps - warmup_steps), dtype=torch.float64)
    return (lr_max * 0.5 * (1 + torch.cos(torch.pi * t))).item()


class Trainer:
    def __init__(self, batch_size=12):
        self.batch_size = batch_size

    def __call__(self, model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
        self.optimizer = torch.optim.AdamW(list(_old_groups(model, weight_decay)), lr=lr_max)
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
