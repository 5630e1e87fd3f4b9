"""Slow but plain: loops, and padded keys cut away."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(n_positions, dim):
    rows, cols = torch.meshgrid(torch.arange(n_positions).double(), torch.arange(dim).double(), indexing="ij")
    angle = rows * torch.exp(-math.log(10000.0) * (2 * torch.div(cols, 2, rounding_mode="floor")) / dim)
    even = (cols.long() % 2 == 0).double()
    return (even * angle.sin() + (1 - even) * angle.cos()).float()


def padding_mask(input_ids, pad_id):
    return torch.tensor([[int(token) == pad_id for token in row] for row in input_ids.tolist()])


def attend(q, k, v, keep):
    """One head of one sentence; only the kept keys take part."""
    k, v = k[keep], v[keep]
    return torch.softmax(q @ k.t() / math.sqrt(q.shape[-1]), dim=-1) @ v


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.Q = nn.Linear(d_model, d_model, bias=False)
        self.K = nn.Linear(d_model, d_model, bias=False)
        self.V = nn.Linear(d_model, d_model, bias=False)
        self.O = nn.Linear(d_model, d_model, bias=False)
        self.ff_a = nn.Linear(d_model, d_ff)
        self.ff_b = nn.Linear(d_ff, d_model)
        self.norm_1 = nn.LayerNorm(d_model)
        self.norm_2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        if key_padding_mask is None:
            key_padding_mask = torch.zeros(x.shape[:2], dtype=torch.bool, device=x.device)
        keep = ~key_padding_mask
        q, k, v = self.Q(x), self.K(x), self.V(x)
        rows = []
        for b in range(x.shape[0]):
            heads = [attend(qh, kh, vh, keep[b]) for qh, kh, vh in
                     zip(q[b].chunk(self.n_heads, -1), k[b].chunk(self.n_heads, -1), v[b].chunk(self.n_heads, -1))]
            rows.append(torch.cat(heads, dim=-1))
        x = self.norm_1(x + self.dropout(self.O(torch.stack(rows))))
        return self.norm_2(x + self.dropout(self.ff_b(F.relu(self.ff_a(x)))))


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
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = self.embedding(input_ids) + self.pe[:T]          # positions for the tokens only
        x = torch.cat([self.cls.expand(B, 1, -1), x], dim=1)
        pad = F.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=False)
        return self.head(self.encoder(x, pad)[:, 0])


def parameter_groups(model, weight_decay):
    for decays in (True, False):
        members = [p for p in model.parameters() if (p.dim() > 1) is decays]
        if members:
            yield {"params": members, "weight_decay": weight_decay if decays else 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if warmup_steps > 0 and step <= warmup_steps:
        return lr_max * float(step) / float(warmup_steps)
    remaining = (total_steps - step) / max(1, total_steps - warmup_steps)
    return lr_max * math.sin(remaining * math.pi / 2) ** 2


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    n, size = input_ids.size(0), 8
    n_batches = -(-n // size)
    total = epochs * n_batches
    warm = max(1, total // 12)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=0.0)
    step, losses = 0, []
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        summed = 0.0
        for rows in order.split(size):
            optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = warmup_cosine(step, warm, total, lr_max)
            logp = model(input_ids[rows]).log_softmax(-1)
            right = logp[torch.arange(len(rows)), labels[rows]]
            per_item = -(1 - label_smoothing) * right - label_smoothing * logp.mean(-1)
            optimizer.zero_grad()
            per_item.mean().backward()
            optimizer.step()
            step += 1
            summed += per_item.sum().item()
        losses.append(summed / n)
    return losses
