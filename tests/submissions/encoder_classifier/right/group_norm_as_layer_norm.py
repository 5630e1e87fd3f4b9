import math

import torch
import torch.nn.functional as F
from torch import nn


class _Sinusoid:
    def __init__(self, base=10000.0):
        self.base = base

    def __call__(self, max_len, d_model):
        step = torch.arange(0, d_model, 2).float().div(d_model).mul(math.log(self.base)).neg().exp()
        phase = torch.arange(max_len).float().unsqueeze(1).mul(step)
        pe = phase.new_zeros(max_len, d_model)
        pe[:, 0::2].copy_(phase.sin())
        pe[:, 1::2].copy_(phase.cos())
        return pe


sinusoidal_positional_encoding = _Sinusoid()


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return (input_ids - pad_id).abs() < 1


class EncoderBlock(nn.Module):
    """GroupNorm with one group over (N, D) is LayerNorm."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.qkv = nn.Parameter(torch.randn(d_model, 3, n_heads, d_model // n_heads) / d_model ** 0.5)
        self.back = nn.Linear(d_model, d_model, bias=False)
        self.lin1 = nn.Linear(d_model, d_ff)
        self.lin2 = nn.Linear(d_ff, d_model)
        self.gn1 = nn.GroupNorm(1, d_model)
        self.gn2 = nn.GroupNorm(1, d_model)
        self.drop = nn.Dropout(dropout)

    @staticmethod
    def normalise(norm, x):
        return norm(x.reshape(-1, x.size(-1))).view_as(x)

    def forward(self, x, key_padding_mask=None):
        q, k, v = torch.tensordot(x, self.qkv, dims=1).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(-1, -2) / q.size(-1) ** 0.5
        if key_padding_mask is not None:
            s = s.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
        a = self.back((s.softmax(-1) @ v).transpose(1, 2).flatten(2))
        x = self.normalise(self.gn1, x + self.drop(a))
        return self.normalise(self.gn2, x + self.drop(self.lin2(self.lin1(x).relu())))


class TransformerEncoder(nn.Sequential):
    def __init__(self, n_layers, *sizes, **options):
        super().__init__(*[EncoderBlock(*sizes, **options) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self:
            x = block(x, key_padding_mask)
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
    return [
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]


warmup_cosine = lambda step, warmup_steps, total_steps, lr_max: (
    lr_max * step / warmup_steps if step < warmup_steps
    else lr_max * (0.5 + 0.5 * math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps))))


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
