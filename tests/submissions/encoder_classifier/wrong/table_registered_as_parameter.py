import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, D):
    rows = []
    for pos in range(0, max_len):
        row = []
        for j in range(D):
            angle = pos / 10000 ** ((j - j % 2) / D)
            row.append(math.sin(angle) if j % 2 == 0 else math.cos(angle))
        rows.append(row)
    return torch.tensor(rows, dtype=torch.float32)


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return input_ids.eq(pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, D, H, inner, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(D, H, dropout=dropout, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(D, inner), nn.ReLU(), nn.Linear(inner, D))
        self.norm_a, self.norm_b = nn.LayerNorm(D), nn.LayerNorm(D)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        att = self.mha(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]
        x = self.norm_a(x + self.drop(att))
        return self.norm_b(x + self.drop(self.ffn(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, D, H, inner, dropout=0.0):
        super().__init__()
        blocks = [EncoderBlock(D, H, inner, dropout) for _ in range(n_layers)]
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x, key_padding_mask=None):
        out = x
        for b in self.blocks:
            out = b(out, key_padding_mask)
        return out


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, D=32, H=4, inner=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, D)
        self.cls = nn.Parameter(torch.randn(1, 1, D) * 0.02)
        self.pe = nn.Parameter(sinusoidal_positional_encoding(max_len + 1, D))
        self.blocks_ = TransformerEncoder(n_layers, D, H, inner, dropout)
        self.head = nn.Linear(D, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = torch.cat([self.cls.expand(B, -1, -1), self.embedding(input_ids)], dim=1)
        x = x + self.pe[:T + 1]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([torch.zeros(B, 1, dtype=torch.bool), pad], dim=1)
        h = self.blocks_(x, pad)
        return self.head(h[:, 0])


def parameter_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    rest = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    rise = step / max(warmup_steps, 1)
    done = max(0, step - warmup_steps) / max(1, total_steps - warmup_steps)
    fall = math.cos(math.pi / 2 * min(1.0, done)) ** 2
    return float(lr_max * min(rise, fall) if step < warmup_steps else lr_max * fall)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    data = torch.utils.data.TensorDataset(input_ids, labels)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
    steps = epochs * len(loader)
    warmup_steps = max(1, int(0.1 * steps))
    optim = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=1.0)
    sched = torch.optim.lr_scheduler.LambdaLR(optim, lambda s: warmup_cosine(min(s, steps), warmup_steps, steps, lr_max))
    means = []
    model.train()
    for _ in range(epochs):
        seen = []
        for xb, yb in loader:
            optim.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(xb), yb, label_smoothing=label_smoothing)
            loss.backward()
            optim.step()
            sched.step()
            seen.append((float(loss), len(yb)))
        means.append(sum(l * k for l, k in seen) / sum(k for _, k in seen))
    return means
