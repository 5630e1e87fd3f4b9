import math
from functools import lru_cache

import torch
import torch.nn.functional as F
from torch import nn


@lru_cache(maxsize=None)
def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.empty(max_len, d_model)
    t = torch.arange(max_len).float()
    for column in range(0, d_model, 2):
        w = math.exp(-column / d_model * math.log(1e4))
        pe[:, column] = torch.sin(t * w)
        pe[:, column + 1] = torch.cos(t * w)
    return pe


def padding_mask(ids, pad):
    return torch.isin(ids, torch.tensor([pad]))


def residual_norm(x, branch, norm, rate, training):
    return norm(x + F.dropout(branch(x), rate, training))


def heads_first(t, h):
    return torch.stack(t.chunk(h, dim=-1), dim=1)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.h, self.rate = n_heads, dropout
        self.maps = nn.ModuleList([nn.Linear(d_model, d_model) for _ in range(4)])
        self.hidden, self.visible = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm_after_attention, self.norm_after_ffn = nn.LayerNorm(d_model), nn.LayerNorm(d_model)

    def attention(self, x, ignore):
        q, k, v = (heads_first(f(x), self.h) for f in self.maps[:3])
        s = torch.softmax(self.scores(q, k, ignore), dim=-1)
        return self.maps[3](torch.cat(torch.matmul(s, v).unbind(1), dim=-1))

    @staticmethod
    def scores(q, k, ignore):
        s = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(k.shape[-1])
        return s if ignore is None else s.masked_fill(ignore[:, None, None, :], torch.finfo(s.dtype).min)

    def forward(self, x, key_padding_mask=None):
        x = residual_norm(x, lambda y: self.attention(y, key_padding_mask), self.norm_after_attention, self.rate, self.training)
        return residual_norm(x, lambda y: self.visible(F.relu(self.hidden(y))), self.norm_after_ffn, self.rate, self.training)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
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
    buckets = {"matrices": [], "embeddings": [], "vectors": []}
    embedding_ids = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if id(p) in embedding_ids:
            buckets["embeddings"].append(p)
        elif p.ndim >= 2:
            buckets["matrices"].append(p)
        else:
            buckets["vectors"].append(p)
    decay_of = {"matrices": weight_decay, "embeddings": 0.0, "vectors": 0.0}
    return [{"params": params, "weight_decay": decay_of[key], "name": key} for key, params in buckets.items() if params]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return step / warmup_steps * lr_max
    x = (step - warmup_steps) / max(total_steps - warmup_steps, 1)
    return lr_max * math.cos(0.5 * math.pi * x) ** 2          # (1 + cos 2a) / 2 = cos^2 a


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max, foreach=False)
    model.train()
    history = torch.zeros(epochs)
    targets = None
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, max(1, epochs // 10), epochs, lr_max)
        logits = model(input_ids)
        if targets is None:
            k = logits.size(1)
            targets = torch.full_like(logits, label_smoothing / k, requires_grad=False).detach()
            targets[torch.arange(len(labels)), labels] += 1.0 - label_smoothing
        loss = F.cross_entropy(logits, targets)        # probabilities as target
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        history[epoch] = loss.detach()
    return history.tolist()
