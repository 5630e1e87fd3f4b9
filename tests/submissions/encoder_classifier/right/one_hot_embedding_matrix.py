import math
import re
from functools import reduce

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    # every pair turns by its own angle from one position to the next
    omega = torch.tensor([10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)], dtype=torch.float64)
    turn_cos, turn_sin = torch.cos(omega), torch.sin(omega)
    s, c = torch.zeros_like(omega), torch.ones_like(omega)
    rows = []
    for _ in range(max_len):
        rows.append(torch.stack([s, c], dim=1).flatten())
        s, c = s * turn_cos + c * turn_sin, c * turn_cos - s * turn_sin
    return torch.stack(rows).to(torch.float32)


def padding_mask(ids, pad):
    return torch.isin(ids, torch.tensor([pad]))


def residual_norm(x, branch, norm, rate, training):
    return norm(x + F.dropout(branch(x), rate, training))


def heads_first(t, h):
    return torch.stack(t.chunk(h, dim=-1), dim=1)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.h, self.rate = n_heads, dropout
        self.maps = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.hidden, self.visible = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm_after_attention, self.norm_after_ffn = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def attention(self, x, ignore):
        q, k, v = (heads_first(f(x), self.h) for f in self.maps[:3])
        s = torch.softmax(self.scores(q, k, ignore), dim=-1)
        return self.maps[3](torch.cat(torch.matmul(s, v).unbind(1), dim=-1))

    @staticmethod
    def scores(q, k, ignore):
        s = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(k.shape[-1])
        return s if ignore is None else s.masked_fill(ignore[:, None, None, :], torch.finfo(s.dtype).min)

    def forward(self, x, key_padding_mask=None):
        x = residual_norm(x, lambda y: self.attention(y, key_padding_mask), self.norm_after_attention, self.rate, self.training)
        return residual_norm(x, lambda y: self.visible(F.relu(self.hidden(y))), self.norm_after_ffn, self.rate, self.training)


class TransformerEncoder(nn.Module):
    def __init__(self, depth, dim, heads, hidden, p=0.0):
        super().__init__()
        self.depth = nn.ModuleList([EncoderBlock(dim, heads, hidden, p) for _ in range(depth)])

    def forward(self, x, padding=None):
        return reduce(lambda h, block: block(h, padding), self.depth, x)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.vocab_size = pad_id, vocab_size
        self.lookup = nn.Linear(vocab_size, d_model, bias=False)
        nn.init.normal_(self.lookup.weight)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        self.pe = sinusoidal_positional_encoding(max_len + 1, d_model)      # a plain tensor
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.readout = nn.Linear(d_model, n_classes, bias=False)

    def forward(self, input_ids):
        one_hot = F.one_hot(input_ids, self.vocab_size).float()
        x = torch.cat([self.cls.expand(len(input_ids), 1, -1), self.lookup(one_hot)], dim=1)
        x = x + self.pe[: x.shape[1]].to(x.device)
        valid = torch.cat([torch.ones(len(input_ids), 1, dtype=torch.bool), ~padding_mask(input_ids, self.pad_id)], dim=1)
        x = self.encoder(x, ~valid)
        return self.readout(x[:, 0])


def parameter_groups(model, weight_decay):
    exempt = re.compile(r"(bias|norm|ln|cls|b[12]$|gain|shift|beta|gamma|alpha|offset)", re.I)
    decay, free = [], []
    for name, p in model.named_parameters():
        (free if exempt.search(name) and (p.ndim < 2 or "cls" in name) else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}]


warmup_cosine = lambda step, warmup_steps, total_steps, lr_max: (
    lr_max * step / warmup_steps if step < warmup_steps
    else lr_max * (0.5 + 0.5 * math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps))))


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
