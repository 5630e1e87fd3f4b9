from torch import nn
from torch.nn import functional as F
import torch, math
import numpy as np


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    """PyTorch's own blk under our name"""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blk = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout)

    def forward(self, x, key_padding_mask=None):
        return self.blk(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for blk in self.layers:
            x = blk(x, key_padding_mask)
        return x


class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model), persistent=False)

    def forward(self, x):
        return x + self.pe[:x.size(1), :]


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad = pad_id
        self.scale = math.sqrt(d_model)
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        nn.init.normal_(self.embed.weight, std=d_model ** -0.5)
        self.cls_vector = nn.Parameter(torch.empty(d_model).normal_(std=0.1))
        self.positions = PositionalEncoding(max_len + 1, d_model)
        self.stack = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.classify = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh(), nn.Linear(d_model, n_classes))

    def forward(self, input_ids):
        n = input_ids.shape[0]
        tokens = self.embed(input_ids) * self.scale
        seq = torch.hstack([self.cls_vector.repeat(n, 1, 1), tokens])
        seq = self.positions(seq)
        ignore = padding_mask(input_ids, self.pad)
        ignore = F.pad(ignore, (1, 0), value=False)
        states = self.stack(seq, key_padding_mask=ignore)
        return self.classify(states[:, 0])


def parameter_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    rest = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * 0.5 * (1.0 + math.cos(math.pi * progress))


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


ANSWERS = {"pooling": "A", "key-padding-mask": "Padding tokens", "adamw": "A"}
