import math
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


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.TransformerEncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(d_model, n_heads, d_ff, dropout, activation="relu", batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return super().forward(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embed = nn.Embedding(1 + vocab_size, d_model)       # row 0 is [CLS], token t has row t + 1
        self.pos = nn.Embedding.from_pretrained(sinusoidal_positional_encoding(max_len + 1, d_model), freeze=True)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.dropout = nn.Dropout(dropout)
        self.linear = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        rows = torch.cat([torch.zeros_like(input_ids[:, :1]), input_ids + 1], dim=1)
        x = self.dropout(self.embed(rows) + self.pos(torch.arange(rows.size(1))))
        x = self.encoder(x, padding_mask(rows, self.pad_id + 1))
        return self.linear(x[:, 0])


def parameter_groups(model, weight_decay):
    buckets = {"matrices": [], "embeddings": [], "vectors": []}
    embedding_ids = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if id(p) in embedding_ids:
            buckets["embeddings"].append(p)
        elif p.ndim >= 2:
            buckets["matrices"].append(p)
        else:
            buckets["vectors"].append(p)
    decay_of = {"matrices": weight_decay, "embeddings": 0.0, "vectors": 0.0}
    return [{"params": params, "weight_decay": decay_of[key], "name": key} for key, params in buckets.items() if params]


class _Schedule:
    """Linear warmup, then half a cosine down to zero."""

    def __call__(self, step, warmup_steps, total_steps, lr_max):
        return lr_max * (self.rise(step, warmup_steps) if step < warmup_steps
                         else self.fall(step - warmup_steps, max(1, total_steps - warmup_steps)))

    @staticmethod
    def rise(step, n):
        return step / n

    @staticmethod
    def fall(step, n):
        return (1.0 + math.cos(step / n * math.pi)) * 0.5


warmup_cosine = _Schedule()


def smoothed_targets(labels, n_classes, eps):
    return F.one_hot(labels, n_classes).float() * (1 - eps) + eps / n_classes


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    """The loss is the KL divergence to the smoothed target (cross-entropy minus the target's entropy)."""
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    losses = []
    model.train()
    for step in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup_steps, epochs, lr_max)
        log_p = F.log_softmax(model(input_ids), dim=-1)
        target = smoothed_targets(labels, log_p.size(-1), label_smoothing)
        loss = F.kl_div(log_p, target, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
