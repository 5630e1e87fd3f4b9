# -*- coding: latin-1 -*-
# Hausaufgabe: Aufmerksamkeit mit mehreren Köpfen (für die Übung) 
import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    return x.view(x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads).swapaxes(1, 2) if x.is_contiguous() \
        else x.reshape(x.shape[0], x.shape[1], n_heads, x.shape[2] // n_heads).swapaxes(1, 2)


def merge_heads(x):
    return x.swapaxes(1, 2).reshape(x.shape[0], x.shape[2], -1)


def scaled_dot_product_attention(query, key, value, mask=None):
    ergebnis = query @ key.swapaxes(-1, -2) / query.shape[-1] ** 0.5
    if mask is not None:
        ergebnis = ergebnis.masked_fill(mask == 0, float("-inf"))
    gewichte = F.softmax(ergebnis, -1)
    return gewichte @ value, gewichte


class MultiHeadAttention(nn.Module):
    def __init__(self, breite, koepfe):
        super().__init__()
        if breite % koepfe != 0:
            raise ValueError("Breite nicht durch Anzahl der Koepfe teilbar")
        self.koepfe = koepfe
        self.frage = nn.Linear(breite, breite, bias=False)
        self.schluessel = nn.Linear(breite, breite, bias=False)
        self.wert = nn.Linear(breite, breite, bias=False)
        self.ausgabe = nn.Linear(breite, breite, bias=False)

    def forward(self, frage, schluessel, wert, maske=None):
        f = split_heads(self.frage(frage), self.koepfe)
        s = split_heads(self.schluessel(schluessel), self.koepfe)
        w = split_heads(self.wert(wert), self.koepfe)
        aus, gewichte = scaled_dot_product_attention(f, s, w, maske)
        return self.ausgabe(merge_heads(aus)), gewichte
