import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float64).unsqueeze(-1)
    dim = torch.arange(d_model)
    phase = (dim % 2) * (math.pi / 2)            # cos(a) = sin(a + pi/2)
    return torch.sin(pos / 10000.0 ** ((dim - dim % 2) / d_model) + phase).float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    """Here the "keys" ask and the "queries" answer: in self-attention that is only a name."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.h, self.d = n_heads, d_model // n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.unify = nn.Linear(d_model, d_model, bias=False)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.do = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        B, T, D = x.shape
        view = lambda t: t.reshape(B, T, self.h, self.d).transpose(1, 2)
        q, k, v = view(self.query(x)), view(self.key(x)), view(self.value(x))
        dots = torch.matmul(k, q.transpose(-2, -1)) * self.d ** -0.5
        if key_padding_mask is not None:
            dots.masked_fill_(key_padding_mask[:, None, None, :], -1e10)
        out = torch.matmul(dots.softmax(dim=-1), v)
        x = self.norm1(self.do(self.unify(out.transpose(1, 2).reshape(B, T, D))) + x)
        return self.norm2(self.do(self.ff(x)) + x)


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
        self.pad_id, self.d_model = pad_id, d_model
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.zeros(d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)
        self._pe = torch.zeros(0, d_model)
        nn.init.zeros_(self.head.weight)            # starts at uniform logits
        nn.init.zeros_(self.head.bias)

    def positions(self, n):
        if self._pe.size(0) < n:
            self._pe = sinusoidal_positional_encoding(n, self.d_model)
        return self._pe[:n]

    def forward(self, input_ids):
        b, t = input_ids.size()
        cls = self.cls.view(1, 1, -1).expand(b, -1, -1)
        x = torch.cat((cls, self.embedding(input_ids)), 1) + self.positions(t + 1)
        m = torch.cat((torch.zeros(b, 1, dtype=torch.bool), padding_mask(input_ids, self.pad_id)), 1)
        return self.head(self.encoder(x, m)[:, 0])


def parameter_groups(model, weight_decay):
    """The optimizer keeps the names (pairs of name and parameter)."""
    pairs = [(n, p) for n, p in model.named_parameters() if p.requires_grad]
    return [{"params": [(n, p) for n, p in pairs if p.ndim >= 2], "weight_decay": weight_decay},
            {"params": [(n, p) for n, p in pairs if p.ndim < 2], "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    t = torch.tensor((step - warmup_steps) / max(1, total_steps - warmup_steps), dtype=torch.float64)
    return (lr_max * 0.5 * (1 + torch.cos(torch.pi * t))).item()


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
