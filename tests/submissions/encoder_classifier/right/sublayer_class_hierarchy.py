import copy
import math

import numpy as np
import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(n_positions, dim):
    rows, cols = torch.meshgrid(torch.arange(n_positions).double(), torch.arange(dim).double(), indexing="ij")
    angle = rows * torch.exp(-math.log(10000.0) * (2 * torch.div(cols, 2, rounding_mode="floor")) / dim)
    even = (cols.long() % 2 == 0).double()
    return (even * angle.sin() + (1 - even) * angle.cos()).float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class Sublayer(nn.Module):
    """Base class: norm(x + dropout(self.compute(x)))"""

    def __init__(self, size, dropout):
        super().__init__()
        self.norm = nn.LayerNorm(size)
        self.dropout = nn.Dropout(dropout)

    def compute(self, x, ignore):
        raise NotImplementedError

    def forward(self, x, ignore=None):
        return self.norm(x + self.dropout(self.compute(x, ignore)))


class AttentionSublayer(Sublayer):
    def __init__(self, size, heads, dropout):
        super().__init__(size, dropout)
        self.inner = nn.MultiheadAttention(size, heads, batch_first=True)

    def compute(self, x, ignore):
        return self.inner(x, x, x, ignore)[0]


class FeedForwardSublayer(Sublayer):
    def __init__(self, size, hidden, dropout):
        super().__init__(size, dropout)
        self.inner = nn.Sequential(nn.Linear(size, hidden), nn.ReLU(), nn.Linear(hidden, size))

    def compute(self, x, ignore):
        return self.inner(x)


class EncoderBlock(nn.Sequential):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(AttentionSublayer(d_model, n_heads, dropout), FeedForwardSublayer(d_model, d_ff, dropout))

    def forward(self, x, key_padding_mask=None):
        for sublayer in self:
            x = sublayer(x, key_padding_mask)
        return x


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = clones(EncoderBlock(d_model, n_heads, d_ff, dropout), n_layers)

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
    decay, no_decay = set(), set()
    kinds = (nn.LayerNorm, nn.GroupNorm, nn.Embedding)
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            exempt = isinstance(module, kinds) or "bias" in name or p.ndim < 2
            (no_decay if exempt else decay).add(p)
    return [{"params": list(decay), "weight_decay": weight_decay},
            {"params": list(no_decay), "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    x = np.clip((step - warmup_steps) / max(1, total_steps - warmup_steps), 0.0, 1.0)
    return float(lr_max * min(step / warmup_steps, 1.0) * (1.0 + np.cos(np.pi * x)) / 2.0)


def endless(input_ids, labels, size):
    while True:
        order = torch.randperm(len(labels))
        for rows in order.split(size):
            yield input_ids[rows], labels[rows]


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    size = 16
    per_epoch = math.ceil(len(labels) / size)
    total = epochs * per_epoch
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max, amsgrad=True)
    stream = endless(input_ids, labels, size)
    losses = []
    model.train()
    for step in range(total):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, max(1, total // 20), total, lr_max)
        x, y = next(stream)
        optimizer.zero_grad(set_to_none=False)
        loss = F.cross_entropy(model(x), y, label_smoothing=label_smoothing)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return [sum(losses[i:i + per_epoch]) / per_epoch for i in range(0, total, per_epoch)]
