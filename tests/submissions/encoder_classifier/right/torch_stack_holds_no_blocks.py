"""The stack is nn.TransformerEncoder itself; CLS is one more row of the embedding table."""
from math import cos, pi

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

ANSWERS = {
    "pooling": "A",
    "key_padding_mask": "A",
    "adamw": "A",
    "params-2-layers": 3264,
    "pe-first-rows": [[0, 1, 0, 1], [0.8415, 0.5403, 0.0998, 0.995], [0.9093, -0.4161, 0.1987, 0.9801]],
}


def sinusoidal_positional_encoding(max_len: int, d_model: int) -> torch.Tensor:
    table = np.fromfunction(
        lambda pos, j: np.where(j % 2 == 0,
                                np.sin(pos / 10000 ** ((j - j % 2) / d_model)),
                                np.cos(pos / 10000 ** ((j - j % 2) / d_model))),
        (max_len, d_model))
    return torch.from_numpy(table.astype(np.float32))


def padding_mask(input_ids, pad_id):
    return torch.eq(input_ids, pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.inner = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout, activation=F.relu,
                                                batch_first=True, norm_first=False)

    def forward(self, x, key_padding_mask=None):
        return self.inner(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.stack = nn.TransformerEncoder(
            EncoderBlock(d_model, n_heads, d_ff, dropout).inner, n_layers)
        for p in self.stack.parameters():          # the copies start equal: draw them anew
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, x, key_padding_mask=None):
        return self.stack(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.cls_id, self.pad_id, self.max_len = vocab_size, pad_id, max_len
        self.emb = nn.Embedding(vocab_size + 1, d_model)
        self.d_model = d_model
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh(), nn.Linear(d_model, n_classes))

    def forward(self, input_ids):
        ids = torch.cat([torch.full_like(input_ids[:, :1], self.cls_id), input_ids], dim=1)
        pe = sinusoidal_positional_encoding(ids.size(1), self.d_model).to(self.emb.weight)
        hidden = self.encoder(self.emb(ids) + pe, padding_mask(ids, self.pad_id))
        return self.head(hidden[:, 0, :])


def parameter_groups(model, weight_decay):
    skip = set()
    for mod_name, mod in model.named_modules():
        for p_name, _ in mod.named_parameters(recurse=False):
            full = f"{mod_name}.{p_name}" if mod_name else p_name
            if isinstance(mod, (nn.LayerNorm, nn.Embedding)) or "bias" in p_name:
                skip.add(full)
    params = dict(model.named_parameters())
    return ({"params": [params[n] for n in params if n not in skip], "weight_decay": weight_decay},
            {"params": [params[n] for n in sorted(skip)], "weight_decay": 0.0})


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        factor = step / warmup_steps
    else:
        factor = (1 + cos(pi * (step - warmup_steps) / max(total_steps - warmup_steps, 1))) / 2
    return float(lr_max * factor)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    batch = 16
    order = torch.Generator().manual_seed(0)
    per_epoch = -(-len(input_ids) // batch)
    total = epochs * per_epoch
    warm = max(1, total // 10)
    optimizer = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=lr_max, betas=(0.9, 0.98))
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    history, step = [], 0
    for _ in range(epochs):
        model.train()
        running = 0.0
        for idx in torch.randperm(len(input_ids), generator=order).split(batch):
            for g in optimizer.param_groups:
                g["lr"] = warmup_cosine(step, warm, total, lr_max)
            optimizer.zero_grad(set_to_none=True)
            loss = criterion(model(input_ids[idx]), labels[idx])
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            running += loss.item() * len(idx)
            step += 1
        history.append(running / len(input_ids))
    return history
