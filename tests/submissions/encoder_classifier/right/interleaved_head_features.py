import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    def entry(pos, j):
        angle = pos / 10000 ** ((j - j % 2) / d_model)
        return math.cos(angle) if j % 2 else math.sin(angle)
    return torch.tensor([[entry(pos, j) for j in range(d_model)] for pos in range(max_len)])


def padding_mask(input_ids, pad_id):
    real = (input_ids != pad_id)
    return torch.logical_not(real)


class EncoderBlock(nn.Module):
    """Features of the heads interleaved: feature f belongs to head f % H."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.H = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)
        self.ff1 = nn.Linear(d_model, d_ff)
        self.ff2 = nn.Linear(d_ff, d_model)
        self.ln = nn.ModuleDict({"first": nn.LayerNorm(d_model), "second": nn.LayerNorm(d_model)})
        self.drop = nn.Dropout(dropout)

    def split(self, z):
        b, t, d = z.shape
        return z.view(b, t, d // self.H, self.H).permute(0, 3, 1, 2)

    def forward(self, x, key_padding_mask=None):
        q, k, v = self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x))
        s = q.matmul(k.transpose(2, 3)).div(math.sqrt(q.size(3)))
        if key_padding_mask is not None:
            s = s.masked_fill(key_padding_mask[:, None, None], float("-inf"))
        z = s.softmax(3).matmul(v).permute(0, 2, 3, 1).reshape(x.shape)
        x = self.ln["first"](x + self.drop(self.wo(z)))
        z = self.ff2(torch.threshold(self.ff1(x), 0.0, 0.0))
        return self.ln["second"](x + self.drop(z))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.etages = nn.ModuleDict({f"etage_{i}": EncoderBlock(d_model, n_heads, d_ff, dropout) for i in range(n_layers)})

    def forward(self, x, key_padding_mask=None):
        for etage in self.etages.values():
            x = etage(x, key_padding_mask)
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


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    step = min(max(step, 0), total_steps)
    if step < warmup_steps:
        return lr_max * step / max(1, warmup_steps)
    fraction = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * lr_max * (1.0 + math.cos(math.pi * min(1.0, fraction)))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    """Gradients of small pieces are added up; one step an epoch."""
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, [lambda s: warmup_cosine(s, max(1, epochs // 10), epochs, lr_max) / lr_max] * len(optimizer.param_groups))
    n = len(labels)
    model.train()
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss_sum = 0.0
        for x, y in zip(input_ids.split(7), labels.split(7)):
            part = F.cross_entropy(model(x), y, label_smoothing=label_smoothing, reduction="sum") / n
            part.backward()
            loss_sum += part.item()
        optimizer.step()
        scheduler.step()
        losses.append(loss_sum)
    return losses
