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
        layers = [EncoderBlock(D, H, inner, dropout)] * n_layers
        self.layers = nn.ModuleList(layers)

    def forward(self, x, key_padding_mask=None):
        out = x
        for b in self.layers:
            out = b(out, key_padding_mask)
        return out


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, D=32, H=4, inner=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, D)
        self.cls = nn.Parameter(torch.randn(1, 1, D) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, D))
        self.encoder = TransformerEncoder(n_layers, D, H, inner, dropout)
        self.head = nn.Linear(D, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = torch.cat([self.cls.expand(B, -1, -1), self.embedding(input_ids)], dim=1)
        x = x + self.pe[:T + 1]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([torch.zeros(B, 1, dtype=torch.bool), pad], dim=1)
        h = self.encoder(x, pad)
        return self.head(h[:, 0])


def parameter_groups(model, weight_decay):
    norm_ids = {id(p) for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    no_decay = [p for n, p in model.named_parameters() if id(p) in norm_ids or n.split(".")[-1].endswith("bias")]
    taken = {id(p) for p in no_decay}
    decay = [p for p in model.parameters() if id(p) not in taken]
    yield {"params": decay, "weight_decay": weight_decay}
    yield {"params": no_decay, "weight_decay": 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    rise = step / max(warmup_steps, 1)
    done = max(0, step - warmup_steps) / max(1, total_steps - warmup_steps)
    fall = math.cos(math.pi / 2 * min(1.0, done)) ** 2
    return float(lr_max * min(rise, fall) if step < warmup_steps else lr_max * fall)


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
