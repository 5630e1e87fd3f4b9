import copy
import functools
import math
import time

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    def entry(pos, j):
        angle = pos / 10000 ** ((j - j % 2) / d_model)
        return math.cos(angle) if j % 2 else math.sin(angle)
    return torch.tensor([[entry(pos, j) for j in range(d_model)] for pos in range(max_len)])


class Masks:
    @staticmethod
    def padding(input_ids, pad_id):
        return (input_ids == pad_id).bool()


padding_mask = Masks.padding


class EncoderBlock(nn.Module):
    def __init__(self, dim, heads, hidden, p=0.0):
        super().__init__()
        self.heads = heads
        self.vk = nn.Linear(dim, 2 * dim, bias=False)      # values first, then keys
        self.q = nn.Linear(dim, dim, bias=True)
        self.o = nn.Linear(dim, dim, bias=True)
        self.inner = nn.Linear(dim, hidden)
        self.outer = nn.Linear(hidden, dim)
        self.n1, self.n2 = nn.LayerNorm(dim, eps=1e-6), nn.LayerNorm(dim, eps=1e-6)
        self.p = p

    def _heads(self, z):
        return z.unflatten(-1, (self.heads, -1)).permute(0, 2, 1, 3)

    def forward(self, x, ignore=None):
        v, k = map(self._heads, self.vk(x).split(x.size(-1), dim=-1))
        q = self._heads(self.q(x))
        q = q / q.size(-1) ** 0.5
        s = torch.einsum('nhid,nhjd->nhij', q, k)
        if ignore is not None:
            s = torch.where(ignore[:, None, None], torch.tensor(-1e4), s)
        a = torch.einsum('nhij,nhjd->nihd', s.softmax(3), v).flatten(-2)
        x = self.n1(x + F.dropout(self.o(a), self.p, self.training))
        y = self.outer(self.inner(x).clamp(min=0))
        return self.n2(F.dropout(y, self.p, self.training) + x)


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
    # one group for each parameter
    return [{"params": p, "weight_decay": weight_decay if p.ndim > 1 and "cls" not in name else 0.0, "name": name}
            for name, p in model.named_parameters()]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    step = min(max(step, 0), total_steps)
    if step < warmup_steps:
        return lr_max * step / max(1, warmup_steps)
    fraction = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * lr_max * (1.0 + math.cos(math.pi * min(1.0, fraction)))


def timed(fn):
    @functools.wraps(fn)
    def wrapper(*args, **kwargs):
        start = time.perf_counter()
        try:
            return fn(*args, **kwargs)
        finally:
            wrapper.seconds = time.perf_counter() - start
    return wrapper


@timed
def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    rates = [warmup_cosine(s, max(1, epochs // 10), epochs, lr_max) for s in range(epochs)]
    was_training = model.training
    model.train()
    losses = []
    for lr in rates:
        for group in optimizer.param_groups:
            group.update(lr=lr)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.train(was_training)
    return losses
