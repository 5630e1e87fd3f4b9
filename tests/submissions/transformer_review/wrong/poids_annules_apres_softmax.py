"""Devoir transformer_review : le décodeur hérite de l'encodeur."""
import numpy as np
import torch
from torch import nn


def scaled_dot_product_attention(requete, cle, valeur, masque=None):
    scores = requete @ cle.transpose(-2, -1) / np.sqrt(cle.shape[-1])
    poids = scores.softmax(dim=-1)
    if masque is not None:
        poids = poids.masked_fill(masque.eq(0), 0.0)
    return poids @ valeur, poids


class Projection(nn.Module):
    """Une seule matrice pour plusieurs projections."""

    def __init__(self, dim, combien):
        super().__init__()
        self.dim, self.combien = dim, combien
        self.matrice = nn.Linear(dim, combien * dim, bias=False)

    def forward(self, x, rang):
        d = self.dim
        return nn.functional.linear(x, self.matrice.weight[rang * d:(rang + 1) * d])


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, tetes):
        super().__init__()
        assert dim % tetes == 0, "dim doit être un multiple de tetes"
        self.tetes = tetes
        self.requete = Projection(dim, 1)
        self.cle_valeur = Projection(dim, 2)
        self.sortie = Projection(dim, 1)

    def decouper(self, x):
        return torch.stack(x.split(x.shape[-1] // self.tetes, dim=-1), dim=1)

    def forward(self, requete, cle, valeur, masque=None):
        q = self.decouper(self.requete(requete, 0))
        k = self.decouper(self.cle_valeur(cle, 0))
        v = self.decouper(self.cle_valeur(valeur, 1))
        contexte, poids = scaled_dot_product_attention(q, k, v, masque)
        contexte = torch.cat(list(contexte.transpose(0, 1)), dim=-1)
        return self.sortie(contexte, 0), poids


def sinusoidal_positional_encoding(longueur, dim):
    angles = np.arange(longueur)[:, None] / np.power(10000, 2 * (np.arange(dim) // 2) / dim)[None, :]
    angles[:, 0::2] = np.sin(angles[:, 0::2])
    angles[:, 1::2] = np.cos(angles[:, 1::2])
    return torch.from_numpy(angles).float()


def causal_mask(taille):
    return torch.from_numpy(np.tri(taille, dtype=bool))


class BlocDeBase(nn.Module):
    def __init__(self, dim, tetes, dim_ff, sous_couches):
        super().__init__()
        self.normes = nn.ModuleList(nn.LayerNorm(dim) for _ in range(sous_couches))
        self.attentions = nn.ModuleList(MultiHeadAttention(dim, tetes) for _ in range(sous_couches - 1))
        self.monte = nn.Linear(dim, dim_ff)
        self.descend = nn.Linear(dim_ff, dim)

    def ajouter(self, rang, x, y):
        return self.normes[rang](x + y)

    def perceptron(self, x):
        return self.descend(torch.relu(self.monte(x)))

    @staticmethod
    def voir(bourrage):
        return None if bourrage is None else (~bourrage)[:, None, None, :]


class EncoderBlock(BlocDeBase):
    def __init__(self, dim, tetes, dim_ff):
        super().__init__(dim, tetes, dim_ff, sous_couches=2)

    def forward(self, x, bourrage=None):
        x = self.ajouter(0, x, self.attentions[0](x, x, x, self.voir(bourrage))[0])
        return self.ajouter(1, x, self.perceptron(x))


class DecoderBlock(BlocDeBase):
    def __init__(self, dim, tetes, dim_ff):
        super().__init__(dim, tetes, dim_ff, sous_couches=3)

    def forward(self, x, memoire, bourrage_memoire=None):
        x = self.ajouter(0, x, self.attentions[0](x, x, x, causal_mask(x.shape[1]))[0])
        x = self.ajouter(1, x, self.attentions[1](x, memoire, memoire, self.voir(bourrage_memoire))[0])
        return self.ajouter(2, x, self.perceptron(x))


class PixelBERT(nn.Module):
    def __init__(self, classes=10, cote=2, dim=32, tetes=4, dim_ff=64):
        super().__init__()
        self.cote = cote
        self.nombre = (8 // cote) ** 2
        self.vers_dim = nn.Linear(cote * cote, dim)
        self.jeton = nn.Parameter(torch.randn(dim) * 0.02)
        self.positions = nn.Embedding(self.nombre + 1, dim)
        self.bloc = EncoderBlock(dim, tetes, dim_ff)
        self.tete = nn.Linear(dim, classes)

    def forward(self, images):
        c = self.cote
        carres = nn.functional.unfold(images[:, None], kernel_size=c, stride=c).transpose(1, 2)
        x = self.vers_dim(carres)
        x = torch.cat([self.jeton.repeat(len(x), 1, 1), x], dim=1)
        x = x + self.positions(torch.arange(self.nombre + 1))[None]
        return self.tete(self.bloc(x)[:, 0])


def mean_aggregate(caracteristiques, adjacence):
    a = adjacence.numpy().astype("float32").copy()
    np.fill_diagonal(a, 1)
    a = torch.from_numpy(a / a.sum(axis=1, keepdims=True))
    return a @ caracteristiques
