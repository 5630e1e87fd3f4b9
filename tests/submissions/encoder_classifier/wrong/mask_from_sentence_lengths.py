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
    lengths = (input_ids != pad_id).sum(dim=1, keepdim=True)
    return torch.arange(input_ids.size(1)).unsqueeze(0) >= lengths


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, n_heads, dropout=dropout, batch_first=True)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm_a, self.norm_b = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        att = self.mha(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)[0]
        x = self.norm_a(x + self.drop(att))
        return self.norm_b(x + self.drop(self.ffn(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        blocks = [EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)]
        self.blocks = nn.ModuleList(blocks)

    def forward(self, x, key_padding_mask=None):
        out = x
        for b in self.blocks:
            out = b(out, key_padding_mask)
        return out


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
    groups = {True: [], False: []}
    for name, p in model.named_parameters():
        skip = name.endswith("bias") or "norm" in name or "ln1" in name or "ln2" in name
        groups[skip].append(p)
    return [dict(params=groups[False], weight_decay=weight_decay),
            dict(params=groups[True], weight_decay=0.0)]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    rise = step / max(warmup_steps, 1)
    done = max(0, step - warmup_steps) / max(1, total_steps - warmup_steps)
    fall = math.cos(math.pi / 2 * min(1.0, done)) ** 2
    return float(lr_max * min(rise, fall) if step < warmup_steps else lr_max * fall)


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


if __name__ == "__main__":
    print(sinusoidal_positional_encoding(10, 8)[:3, :4])
    net = TransformerEncoderClassifier(20, 2)
    toks = torch.randint(1, 20, (16, 6))
    print(train(net, toks, toks[:, 0] % 2)[-1])
