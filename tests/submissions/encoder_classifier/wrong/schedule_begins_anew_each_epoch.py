import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, D):
    i = torch.arange(D // 2, dtype=torch.float64)
    freq = 10000.0 ** (-2 * i / D)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


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
    """an extra row of the embedding table is [CLS]"""

    def __init__(self, vocab_size, n_classes, D=32, H=4, inner=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.cls_id = pad_id, vocab_size
        self.tok = nn.Embedding(vocab_size + 1, D)
        self.table = nn.Buffer(sinusoidal_positional_encoding(max_len + 1, D))
        self.drop = nn.Dropout(dropout)
        self.enc = TransformerEncoder(n_layers, D, H, inner, dropout)
        self.out = nn.Linear(D, n_classes)

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        hidden = self.tok(ids) + self.table[:ids.size(1)].unsqueeze(0)
        hidden = self.enc(self.drop(hidden), padding_mask(ids, self.pad_id))
        return self.out(hidden[:, 0, :])


def parameter_groups(model, weight_decay):
    norm_ids = {id(p) for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    no_decay = [p for n, p in model.named_parameters() if id(p) in norm_ids or n.split(".")[-1].endswith("bias")]
    taken = {id(p) for p in no_decay}
    decay = [p for p in model.parameters() if id(p) not in taken]
    yield {"params": decay, "weight_decay": weight_decay}
    yield {"params": no_decay, "weight_decay": 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * 0.5 * (1.0 + math.cos(math.pi * progress))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01,
          label_smoothing=0.1, batch_size=8):
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    n = len(labels)
    n_batches = math.ceil(n / batch_size)
    total = epochs * n_batches
    warmup = max(1, n_batches // 10)
    curve, step = [], 0
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        acc = 0.0
        for i in range(n_batches):
            idx = order[i * batch_size:(i + 1) * batch_size]
            lr = warmup_cosine(i, warmup, n_batches, lr_max)
            for group in optimizer.param_groups:
                group["lr"] = lr
            loss = criterion(model(input_ids[idx]), labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            acc += loss.item() * len(idx)
        curve.append(acc / n)
    return curve
