import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    """exp(i * angle) = cos + i sin"""
    angle = torch.outer(torch.arange(max_len).double(), 10000.0 ** (-torch.arange(0, d_model, 2).double() / d_model))
    z = torch.polar(torch.ones_like(angle), angle)
    return torch.stack([z.imag, z.real], dim=2).reshape(max_len, d_model).float()


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return (input_ids - pad_id).abs() < 1


class AttentionMixin:
    def build_attention(self, d_model, n_heads):
        self.n_heads = n_heads
        for letter in "qkvo":
            setattr(self, "lin_" + letter, nn.Linear(d_model, d_model, bias=letter == "o"))

    def attend(self, x, ignore):
        b, t, d = x.shape
        q, k, v = (getattr(self, "lin_" + letter)(x).view(b, t, self.n_heads, -1).transpose(1, 2) for letter in "qkv")
        keep = None if ignore is None else ~ignore.view(b, 1, 1, t)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        return self.lin_o(y.transpose(1, 2).reshape(b, t, d))


class FeedForwardMixin:
    def build_ffn(self, d_model, d_ff):
        self.lin_1 = nn.Linear(d_model, d_ff)
        self.lin_2 = nn.Linear(d_ff, d_model)

    def transform(self, x):
        return self.lin_2(self.lin_1(x).relu())


class EncoderBlock(AttentionMixin, FeedForwardMixin, nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.build_attention(d_model, n_heads)
        self.build_ffn(d_model, d_ff)
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attend(x, key_padding_mask)))
        return self.norm2(x + self.dropout(self.transform(x)))


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
    return [
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return step / warmup_steps * lr_max
    x = (step - warmup_steps) / max(total_steps - warmup_steps, 1)
    return lr_max * math.cos(0.5 * math.pi * x) ** 2          # (1 + cos 2a) / 2 = cos^2 a


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    """Gradients of small pieces are added up; one step an epoch."""
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, [lambda s: warmup_cosine(s, max(1, epochs // 10), epochs, lr_max) / lr_max] * len(optimizer.param_groups))
    n = len(labels)
    model.train()
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss_sum = 0.0
        for x, y in zip(input_ids.split(7), labels.split(7)):
            part = F.cross_entropy(model(x), y, label_smoothing=label_smoothing, reduction="sum") / n
            part.backward()
            loss_sum += part.item()
        optimizer.step()
        scheduler.step()
        losses.append(loss_sum)
    return losses
