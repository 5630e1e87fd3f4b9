
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, d_model):
    pos = np.arange(max_len)[:, np.newaxis]
    i = np.arange(d_model // 2)[np.newaxis, :]
    angles = pos / np.power(10000.0, 2 * i / d_model)
    pe = np.zeros((max_len, d_model))
    pe[:, 0::2] = np.sin(angles)
    pe[:, 1::2] = np.cos(angles)
    return torch.tensor(pe, dtype=torch.float32)


def padding_mask(input_ids, pad_id):
    return torch.where(input_ids == pad_id, True, False)


class LayerNorm(nn.Module):
    def __init__(self, features, eps=1e-5):
        super().__init__()
        self.gamma = nn.Parameter(torch.ones(features))
        self.beta = nn.Parameter(torch.zeros(features))
        self.eps = eps

    def forward(self, x):
        mean = x.mean(-1, keepdim=True)
        var = x.var(-1, keepdim=True, unbiased=False)
        return self.gamma * (x - mean) / torch.sqrt(var + self.eps) + self.beta


class Head(nn.Module):
    """One attention head."""

    def __init__(self, d_model, d_k):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_k, bias=False)
        self.scale = d_k ** -0.5

    def forward(self, x, mask=None):
        q, k, v = self.query(x), self.key(x), self.value(x)
        att = torch.bmm(q, k.transpose(1, 2)) * self.scale
        if mask is not None:
            att = att.masked_fill(mask.unsqueeze(1), torch.finfo(att.dtype).min)
        att = F.softmax(att, dim=-1)
        return torch.bmm(att, v)


class Heads(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.heads = nn.ModuleList([Head(d_model, d_model // n_heads)] * n_heads)
        self.project = nn.Linear(d_model, d_model, bias=False)

    def forward(self, x, mask=None):
        joined = torch.cat([head(x, mask) for head in self.heads], dim=-1)
        return self.project(joined)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = Heads(d_model, n_heads)
        self.feed_forward = nn.Sequential(
            nn.Linear(d_model, d_ff),
            nn.ReLU(),
            nn.Linear(d_ff, d_model),
        )
        self.norm1 = LayerNorm(d_model)
        self.norm2 = LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attention(x, key_padding_mask)))
        x = self.norm2(x + self.dropout(self.feed_forward(x)))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for b in self.blocks:
            x = b(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.cls_id = vocab_size            # one extra row of the embedding
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size + 1, d_model)
        self.pe = nn.Parameter(sinusoidal_positional_encoding(max_len + 1, d_model), requires_grad=False)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        cls = torch.full((input_ids.size(0), 1), self.cls_id, dtype=input_ids.dtype)
        ids = torch.cat([cls, input_ids], dim=1)
        mask = padding_mask(ids, self.pad_id)
        x = self.embedding(ids) + self.pe[: ids.size(1)]
        x = self.encoder(x, mask)
        return self.head(x[:, 0])


def parameter_groups(model, weight_decay):
    decay = []
    no_decay = []
    for name, param in model.named_parameters():
        if not param.requires_grad:
            continue
        if name.endswith(".bias") or "norm" in name:
            no_decay.append(param)
        else:
            decay.append(param)
    return [
        {"params": decay, "weight_decay": weight_decay, "name": "decay"},
        {"params": no_decay, "weight_decay": 0.0, "name": "no_decay"},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    x = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return float(lr_max * 0.5 * (1 + np.cos(np.pi * x)))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max, betas=(0.9, 0.98))
    batches = list(zip(input_ids.split(8), labels.split(8)))
    total = epochs * len(batches)
    warmup = max(1, total // 10)
    step = 0
    losses = []
    model.train()
    for epoch in range(epochs):
        epoch_losses = []
        for xb, yb in batches:
            lr = warmup_cosine(step, warmup, total, lr_max)
            for g in opt.param_groups:
                g["lr"] = lr
            opt.zero_grad()
            loss = F.cross_entropy(model(xb), yb, label_smoothing=label_smoothing)
            loss.backward()
            opt.step()
            step += 1
            epoch_losses.append(loss.item())
        losses.append(float(np.mean(epoch_losses)))
    return losses
