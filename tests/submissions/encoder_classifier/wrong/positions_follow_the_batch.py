import math
import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, D):
    t = np.arange(max_len)[:, None]
    c = np.arange(D)[None, :]
    table = t / np.power(10000, (2 * (c // 2)) / D)
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table).float()


padding_mask = lambda input_ids, pad_id: torch.logical_not(input_ids != pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, D, H, inner, dropout=0.0):
        super().__init__()
        assert D % H == 0
        self.h = H
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(D, D, bias=False) for _ in range(4))
        self.norm1 = nn.LayerNorm(D)
        self.norm2 = nn.LayerNorm(D)
        self.lin1 = nn.Linear(D, inner)
        self.lin2 = nn.Linear(inner, D)
        self.dropout = nn.Dropout(dropout)

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.h, -1).transpose(1, 2)

    def attend(self, x, pad):
        mask = None if pad is None else ~pad.unsqueeze(1).unsqueeze(2)
        y = F.scaled_dot_product_attention(self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x)), attn_mask=mask)
        return self.wo(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attend(x, key_padding_mask)))
        x = self.norm2(x + self.dropout(self.lin2(self.lin1(x).relu())))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, D, H, inner, dropout=0.0):
        super().__init__()
        self.stack = nn.ModuleList()
        for _ in range(n_layers):
            self.stack.append(EncoderBlock(D, H, inner, dropout))

    def forward(self, x, key_padding_mask=None):
        for i, block in enumerate(self.stack):
            x = block(x, key_padding_mask=key_padding_mask)
        return x


class PositionalEncoding(nn.Module):
    def __init__(self, max_len, D):
        super().__init__()
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, D), persistent=False)

    def forward(self, x):
        return x + self.pe[:x.size(0), :].unsqueeze(1)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, D=32, H=4, inner=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad = pad_id
        self.scale = math.sqrt(D)
        self.embed = nn.Embedding(vocab_size, D, padding_idx=pad_id)
        nn.init.normal_(self.embed.weight, std=D ** -0.5)
        self.cls_vector = nn.Parameter(torch.empty(D).normal_(std=0.1))
        self.add_pos = PositionalEncoding(max_len + 1, D)
        self.stack = TransformerEncoder(n_layers, D, H, inner, dropout)
        self.classify = nn.Sequential(nn.Linear(D, D), nn.Tanh(), nn.Linear(D, n_classes))

    def forward(self, input_ids):
        n = input_ids.shape[0]
        tokens = self.embed(input_ids) * self.scale
        seq = torch.hstack([self.cls_vector.repeat(n, 1, 1), tokens])
        seq = self.add_pos(seq)
        ignore = padding_mask(input_ids, self.pad)
        ignore = F.pad(ignore, (1, 0), value=False)
        states = self.stack(seq, key_padding_mask=ignore)
        return self.classify(states[:, 0])


def parameter_groups(model, weight_decay):
    groups = {True: [], False: []}
    for name, p in model.named_parameters():
        skip = name.endswith("bias") or "norm" in name or "ln1" in name or "ln2" in name
        groups[skip].append(p)
    return [dict(params=groups[False], weight_decay=weight_decay),
            dict(params=groups[True], weight_decay=0.0)]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    return (lr_max * (step / warmup_steps) if step < warmup_steps
            else lr_max / 2 * (1 + float(np.cos(np.pi * (step - warmup_steps) / (total_steps - warmup_steps)))))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01,
          label_smoothing=0.1, batch_size=8):
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    n = len(labels)
    n_batches = math.ceil(n / batch_size)
    total = epochs * n_batches
    warmup = max(1, total // 10)
    history, step = [], 0
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        running = 0.0
        for i in range(n_batches):
            idx = order[i * batch_size:(i + 1) * batch_size]
            lr = warmup_cosine(step, warmup, total, lr_max)
            for group in optimizer.param_groups:
                group["lr"] = lr
            loss = criterion(model(input_ids[idx]), labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            running += loss.item() * len(idx)
        history.append(running / n)
    return history
