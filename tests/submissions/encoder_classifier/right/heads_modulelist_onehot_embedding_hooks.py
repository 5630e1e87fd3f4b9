"""Encodeur pour la classification -- une tête = un module ; le masque voyage par un hook."""
import math
from functools import lru_cache

import torch
from torch import nn
from torch.nn import functional as F


@lru_cache(maxsize=None)
def _table(max_len, d_model):
    i = torch.arange(d_model // 2).repeat_interleave(2).double()
    phase = (torch.arange(d_model) % 2).double() * math.pi / 2
    pos = torch.arange(max_len).double()
    return torch.sin(torch.einsum("p,i->pi", pos, 10000.0 ** (-2 * i / d_model)) + phase).float()


def sinusoidal_positional_encoding(max_len, d_model):
    return _table(max_len, d_model).clone()


def padding_mask(input_ids, pad_id):
    return (input_ids - pad_id) == 0


class Tete(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.vkq = nn.Linear(d_model, 3 * d_k, bias=False)
        self.scale = d_k ** -0.5

    def forward(self, x, masque):
        v, k, q = self.vkq(x).tensor_split(3, dim=-1)
        s = torch.bmm(q, k.transpose(1, 2)) * self.scale
        if masque is not None:
            s = s.masked_fill(masque.unsqueeze(1), float("-inf"))
        return torch.bmm(s.softmax(2), v)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model n'est pas un multiple de n_heads")
        self.tetes = nn.ModuleList([Tete(d_model, d_model // n_heads) for _ in range(n_heads)])
        self.sortie = nn.Linear(d_model, d_model)
        self.normes = nn.ModuleList([nn.LayerNorm(d_model), nn.LayerNorm(d_model)])
        self.ff = nn.ModuleList([nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)])
        self.do = nn.Dropout(dropout)

    def sous_couches(self, masque):
        yield lambda x: self.sortie(torch.cat([t(x, masque) for t in self.tetes], -1))
        yield lambda x: self.ff[1](F.relu(self.ff[0](x)))

    def forward(self, x, key_padding_mask=None):
        for norme, f in zip(self.normes, self.sous_couches(key_padding_mask)):
            x = norme(x + self.do(f(x)))
        return x


class TransformerEncoder(nn.Sequential):
    """nn.Sequential passes one argument only: the mask is added by forward pre-hooks."""

    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(*(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)))

    def forward(self, x, key_padding_mask=None):
        handles = [b.register_forward_pre_hook(lambda mod, args: (args[0], key_padding_mask)) for b in self]
        try:
            return super().forward(x)
        finally:
            for h in handles:
                h.remove()


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.v, self.pad_id, self.d = vocab_size, pad_id, d_model
        # token vocab_size is [CLS]
        self.embedding = nn.Linear(vocab_size + 1, d_model, bias=False)
        nn.init.normal_(self.embedding.weight)
        self.encodeur = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.tete = nn.Linear(d_model, n_classes)
        self.register_buffer("pos", sinusoidal_positional_encoding(max_len + 1, d_model))

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.v)
        x = self.embedding(F.one_hot(ids, self.v + 1).to(self.embedding.weight.dtype))
        x = x + self.pos[None, : ids.shape[1]]
        ignore = padding_mask(ids, self.pad_id)
        return self.tete(self.encodeur(x, ignore if ignore.any() else None)[:, 0])


def parameter_groups(model, weight_decay):
    def est_matrice(item):
        return item[1].ndim > 1
    avec = filter(est_matrice, model.named_parameters())
    sans = filter(lambda it: not est_matrice(it), model.named_parameters())
    return iter([
        {"params": (p for _, p in avec), "weight_decay": weight_decay},
        {"params": (p for _, p in sans), "weight_decay": 0.0},
    ])


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return step * lr_max / warmup_steps
    angle = torch.tensor((step - warmup_steps) / (total_steps - warmup_steps), dtype=torch.float64) * math.pi
    return (lr_max * (1 + angle.cos()) / 2).item()


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    lot = 20
    n = len(labels)
    optimiseur = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max, eps=1e-9)
    lots = [slice(i, i + lot) for i in range(0, n, lot)]
    total = epochs * len(lots)
    pas = 0
    moyennes = []
    for _ in range(epochs):
        model.train()
        somme = 0.0
        melange = torch.randperm(n)
        for sl in lots:
            lr = warmup_cosine(pas, max(1, total // 20), total + 1, lr_max)
            for g in optimiseur.param_groups:
                g["lr"] = lr
            choisi = melange[sl]
            perte = F.cross_entropy(model(input_ids[choisi]), labels[choisi],
                                    label_smoothing=label_smoothing, reduction="sum")
            optimiseur.zero_grad()
            (perte / len(choisi)).backward()
            optimiseur.step()
            somme += perte.item()
            pas += 1
        moyennes.append(somme / n)
    return moyennes
