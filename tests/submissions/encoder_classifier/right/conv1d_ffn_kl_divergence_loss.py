"""Channels first inside of the FFN (Conv1d), LayerNorm by F.layer_norm, loss as KL divergence."""
import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, d_model):
    k = torch.arange(d_model)
    rate = torch.exp(-(k - k % 2) / d_model * math.log(1e4))
    grid = torch.arange(max_len).unsqueeze(-1) * rate
    return grid.sin() * (k % 2 == 0) + grid.cos() * (k % 2 == 1)


def padding_mask(input_ids, pad_id=0):
    return torch.isin(input_ids, torch.tensor([pad_id], device=input_ids.device))


class LN(nn.Module):
    def __init__(self, n):
        super().__init__()
        self.scale_minus_one = nn.Parameter(torch.ones(n))
        self.shift = nn.Parameter(torch.zeros(n))

    def forward(self, x):
        return F.layer_norm(x, x.shape[-1:], self.scale_minus_one, self.shift, 1e-5)


class SelfAttention(nn.Module):
    def __init__(self, d, h, dropout):
        super().__init__()
        self.h = h
        self.query_net, self.key_net, self.value_net, self.final = (nn.Linear(d, d) for _ in range(4))
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, hide):
        b, t, d = x.shape
        # (B*H, T, d_k)
        fold = lambda y: y.reshape(b, t, self.h, -1).transpose(1, 2).reshape(b * self.h, t, -1)
        q, k, v = fold(self.query_net(x)), fold(self.key_net(x)), fold(self.value_net(x))
        s = q.bmm(k.mT).div_(math.sqrt(d / self.h))
        if hide is not None:
            s = s.masked_fill(hide.repeat_interleave(self.h, dim=0)[:, None], -1e30)
        o = self.dropout(s.softmax(-1)).bmm(v)
        return self.final(o.view(b, self.h, t, -1).transpose(1, 2).reshape(b, t, d))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        assert d_model % n_heads == 0
        self.sa = SelfAttention(d_model, n_heads, dropout)
        self.expand, self.squeeze = nn.Conv1d(d_model, d_ff, 1), nn.Conv1d(d_ff, d_model, 1)
        self.n2, self.n1 = LN(d_model), LN(d_model)

    def forward(self, x, key_padding_mask=None):
        x = self.n1(x + self.sa(x, key_padding_mask))
        y = self.squeeze(self.expand(x.transpose(1, 2)).relu()).transpose(1, 2)
        return self.n2(x + y)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, *args, **kwargs):
        super().__init__()
        self.net = nn.ModuleDict({f"layer_{i}": EncoderBlock(*args, **kwargs) for i in range(n_layers)})

    def forward(self, x, key_padding_mask=None):
        for layer in self.net.values():
            x = layer(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0, cls_std=1.0):
        super().__init__()
        self.pad_id, self.d_model = pad_id, d_model
        self.table = nn.Parameter(torch.randn(vocab_size, d_model))
        self.CLS = nn.Parameter(torch.randn(1, 1, d_model) * cls_std)
        self.enc = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.readout = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, n_classes))

    def forward(self, input_ids):
        b, t = input_ids.shape
        x = F.embedding(input_ids, self.table)
        x = torch.cat((self.CLS.expand(b, 1, self.d_model), x), 1)
        x = x + sinusoidal_positional_encoding(t + 1, self.d_model)
        m = padding_mask(input_ids, self.pad_id)
        h = self.enc(x, torch.cat((m.new_zeros((b, 1)), m), 1))
        return self.readout(h[:, :1].flatten(1))


def parameter_groups(model, weight_decay):
    groups = {True: {"params": [], "weight_decay": weight_decay}, False: {"params": [], "weight_decay": 0.0}}
    for p in model.parameters():
        groups[p.numel() > max(p.shape)].get("params").append(p) if p.ndim != 2 else groups[True]["params"].append(p)
    return list(groups.values())


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    w, n = float(warmup_steps), float(total_steps)
    return lr_max * (step / w if step < w else 0.5 * (1 - math.cos(math.pi * (n - step) / (n - w))))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=0.)
    losses = []
    model.train()
    total = 2 * epochs                       # two halves of the data an epoch
    step = 0
    for _ in range(epochs):
        perm = torch.randperm(labels.numel())
        parts = perm.chunk(2)
        acc = 0.0
        for part in parts:
            lr = warmup_cosine(step, max(1, total // 8), total + 1, lr_max)
            for g in optimizer.param_groups:
                g["lr"] = lr
            optimizer.zero_grad()
            logits = model(input_ids[part])
            c = logits.shape[1]
            target = (1 - label_smoothing) * F.one_hot(labels[part], c) + label_smoothing / c
            loss = F.kl_div(logits.log_softmax(1), target, reduction="batchmean")
            loss.backward()
            optimizer.step()
            step += 1
            acc += loss.item() * part.numel() / labels.numel()
        losses.append(acc)
    return losses
