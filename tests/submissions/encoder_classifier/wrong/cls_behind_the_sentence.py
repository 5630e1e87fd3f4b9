import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads:
            raise ValueError("heads must divide dim")
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        s = torch.einsum("bhid,bhjd->bhij", q, k) * (d // self.heads) ** -0.5
        if pad is not None:
            s = s.masked_fill(pad[:, None, None, :], -1e9)
        y = torch.einsum("bhij,bhjd->bihd", s.softmax(-1), v)
        return self.proj(y.reshape(b, t, d))


class EncoderBlock(nn.Module):
    def __init__(self, D, H, inner, dropout=0.0):
        super().__init__()
        self.attention = SelfAttention(D, H)
        self.ln1 = nn.LayerNorm(D)
        self.ln2 = nn.LayerNorm(D)
        self.up = nn.Linear(D, inner)
        self.down = nn.Linear(inner, D)
        self.p = dropout

    def drop(self, t):
        return F.dropout(t, self.p, self.training)

    def forward(self, x, key_padding_mask=None):
        x = self.ln1(x + self.drop(self.attention(x, key_padding_mask)))
        return self.ln2(x + self.drop(self.down(F.relu(self.up(x)))))


class TransformerEncoder(nn.ModuleList):
    def __init__(self, n_layers, D, H, inner, dropout=0.0):
        super().__init__([EncoderBlock(D, H, inner, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self:
            x = block(x, key_padding_mask)
        return x


def sinusoidal_positional_encoding(max_len, D):
    i = torch.arange(D // 2, dtype=torch.float64)
    freq = 10000.0 ** (-2 * i / D)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return input_ids.eq(pad_id)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, D=32, H=4, inner=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.words = nn.Embedding(vocab_size, D)
        self.cls = nn.Parameter(torch.randn(1, 1, D) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, D))
        self.encoder = TransformerEncoder(n_layers, D, H, inner, dropout)
        self.head = nn.Linear(D, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = torch.cat([self.words(input_ids), self.cls.expand(B, -1, -1)], dim=1)
        x = x + self.pe[:T + 1]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([pad, torch.zeros(B, 1, dtype=torch.bool)], dim=1)
        h = self.encoder(x, pad)
        return self.head(h[:, -1])


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warm = max(1, epochs // 10)
    losses = []
    for epoch in range(epochs):
        model.train()
        for g in opt.param_groups:
            g["lr"] = warmup_cosine(epoch, warm, epochs, lr_max)
        opt.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


def parameter_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    rest = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    return (lr_max * (step / warmup_steps) if step < warmup_steps
            else lr_max / 2 * (1 + float(np.cos(np.pi * (step - warmup_steps) / (total_steps - warmup_steps)))))
