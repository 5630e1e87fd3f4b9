"""Own LayerNorm, eps 1e-12."""
import math
import re
from functools import partial

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    """exp(i * angle) = cos + i sin"""
    angle = torch.outer(torch.arange(max_len).double(), 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model))
    z = torch.polar(torch.ones_like(angle), angle)
    return torch.stack([z.imag, z.real], dim=2).reshape(max_len, d_model).float()


def padding_mask(input_ids, pad_id):
    real = (input_ids != pad_id)
    return torch.logical_not(real)


class Norm(nn.Module):
    def __init__(self, size, eps=1e-12):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(size))
        self.offset = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        return self.alpha * centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + self.eps) + self.offset


class Residual(nn.Module):
    def __init__(self, fn, size, dropout):
        super().__init__()
        self.fn = fn
        self.norm = Norm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, **kwargs):
        return self.norm(x + self.dropout(self.fn(x, **kwargs)))


class SelfAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(size, size * 3, bias=False)
        self.to_out = nn.Linear(size, size)

    def forward(self, x, mask=None):
        b, n, d = x.shape
        q, k, v = [t.reshape(b, n, self.heads, -1).permute(0, 2, 1, 3).reshape(b * self.heads, n, -1)
                   for t in self.to_qkv(x).chunk(3, dim=-1)]
        sim = torch.bmm(q, k.transpose(1, 2)) / (d // self.heads) ** 0.5
        if mask is not None:
            sim.masked_fill_(mask.repeat_interleave(self.heads, dim=0)[:, None, :], -1e4)
        out = torch.bmm(sim.softmax(-1), v)
        return self.to_out(out.view(b, self.heads, n, -1).permute(0, 2, 1, 3).reshape(b, n, d))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attend = Residual(SelfAttention(d_model, n_heads), d_model, dropout)
        self.transform = Residual(nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)), d_model, dropout)

    def forward(self, x, key_padding_mask=None):
        return self.transform(self.attend(x, mask=key_padding_mask))


class TransformerEncoder(nn.Sequential):
    def __init__(self, n_layers, *sizes, **options):
        super().__init__(*[EncoderBlock(*sizes, **options) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self:
            x = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, taille_vocabulaire, nb_classes, largeur=32, nb_tetes=4, largeur_interne=64, nb_couches=2,
                 longueur_max=64, id_remplissage=0, taux=0.0):
        super().__init__()
        self.id_remplissage = id_remplissage
        self.plongement = nn.Embedding(taille_vocabulaire, largeur)
        self.jeton_classe = nn.Parameter(torch.randn(1, 1, largeur) / largeur ** 0.5)
        self.register_buffer("rangs", sinusoidal_positional_encoding(longueur_max + 1, largeur))
        self.encodeur = TransformerEncoder(nb_couches, largeur, nb_tetes, largeur_interne, taux)
        self.sortie = nn.Linear(largeur, nb_classes)

    def forward(self, phrases):
        nb = phrases.size(0)
        suite = torch.cat([self.jeton_classe.expand(nb, -1, -1), self.plongement(phrases)], dim=1)
        suite = suite + self.rangs[: suite.size(1)]
        masque = padding_mask(phrases, self.id_remplissage)
        masque = torch.cat([torch.full((nb, 1), False), masque], dim=1)
        return self.sortie(self.encodeur(suite, masque)[:, 0])


def parameter_groups(model, weight_decay):
    exempt = re.compile(r"(bias|norm|ln|cls|b[12]$|gain|shift|beta|gamma|alpha|offset)", re.I)
    decay, free = [], []
    for name, p in model.named_parameters():
        (free if exempt.search(name) and (p.ndim < 2 or "cls" in name) else decay).append(p)
    return [{"params": decay, "weight_decay": weight_decay}, {"params": free, "weight_decay": 0.0}]


warmup_cosine = lambda step, warmup_steps, total_steps, lr_max: (
    lr_max * step / warmup_steps if step < warmup_steps
    else lr_max * (0.5 + 0.5 * math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps))))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=1.0, fused=True)
    steps_per_epoch = math.ceil(len(input_ids) / 10)
    total = steps_per_epoch * epochs
    sched = torch.optim.lr_scheduler.LambdaLR(opt, partial(warmup_cosine, warmup_steps=max(1, total // 6), total_steps=total, lr_max=lr_max))
    losses = []
    for epoch in range(epochs):
        running = []
        for i in range(steps_per_epoch):
            model.train()
            x, y = input_ids[i * 10:(i + 1) * 10], labels[i * 10:(i + 1) * 10]
            model.zero_grad()
            loss = F.cross_entropy(model(x), y, label_smoothing=label_smoothing)
            loss.backward()
            opt.step()
            sched.step()
            running.append(loss.detach())
        losses.append(torch.stack(running).mean().item())
    return losses
