"""Lesson 84 with as much of PyTorch as possible: my block *is* an nn.TransformerEncoderLayer."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.optim.lr_scheduler import LambdaLR


def sinusoidal_positional_encoding(max_len, d_model):
    position = torch.arange(max_len).unsqueeze(1)
    div_term = torch.exp(torch.arange(0, d_model, 2) * (-math.log(10000.0) / d_model))
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = torch.sin(position * div_term)
    pe[:, 1::2] = torch.cos(position * div_term)
    return pe


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.TransformerEncoderLayer):
    def __init__(self, d_model, nhead, dim_feedforward, dropout=0.0):
        super().__init__(d_model, nhead, dim_feedforward, dropout, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return super().forward(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.ModuleList):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self:
            x = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.scale = math.sqrt(d_model)
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        nn.init.normal_(self.embed.weight, std=d_model ** -0.5)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model)[None], persistent=False)
        self.dropout = nn.Dropout(dropout)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.fc = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = self.embed(input_ids) * self.scale
        x = torch.cat([self.cls.expand(B, -1, -1), x], dim=1)
        x = self.dropout(x + self.pe[:, :T + 1])
        pad = F.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=False)
        return self.fc(self.encoder(x, pad)[:, 0])


def parameter_groups(model, weight_decay):
    decay, no_decay = [], []
    for name, p in model.named_parameters():
        (no_decay if p.ndim < 2 or name.endswith("bias") else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": no_decay, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return lr_max * 0.5 * (1.0 + math.cos(math.pi * min(1.0, progress)))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=1.0)
    sched = LambdaLR(opt, lambda s: warmup_cosine(s, max(1, epochs // 10), epochs, lr_max))
    losses = []
    model.train()
    for _ in range(epochs):
        opt.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        opt.step()
        sched.step()
        losses.append(loss.item())
    return losses
