"""Aufgabe transformer_review."""
import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(anfrage, schluessel, wert, maske=None):
    """maske: wahr = darf hinsehen."""
    punkte = torch.matmul(anfrage, schluessel.transpose(-2, -1)) / math.sqrt(anfrage.shape[-1])
    if maske is not None:
        punkte = torch.where(maske.bool(), punkte, torch.finfo(punkte.dtype).min)
    gewichte = torch.softmax(punkte, dim=-1)
    return torch.matmul(gewichte, wert), gewichte


class MultiHeadAttention(nn.Module):
    def __init__(self, breite, koepfe):
        super().__init__()
        if breite % koepfe != 0:
            raise ValueError("Die Zahl der Köpfe teilt die Breite nicht")
        self.koepfe = koepfe
        self.kopfbreite = breite // koepfe
        self.abbildungen = nn.ParameterList([nn.Parameter(torch.empty(breite, breite)) for _ in range(4)])
        for w in self.abbildungen:
            nn.init.kaiming_uniform_(w, a=math.sqrt(5))

    def aufteilen(self, x):
        return x.reshape(x.shape[0], x.shape[1], self.koepfe, self.kopfbreite).permute(0, 2, 1, 3)

    def forward(self, anfrage, schluessel, wert, maske=None):
        a, s, w = (
            self.aufteilen(x @ m.t()) for x, m in zip((anfrage, schluessel, wert), self.abbildungen)
        )
        ergebnis, gewichte = scaled_dot_product_attention(a, s, w, maske)
        ergebnis = ergebnis.permute(0, 2, 1, 3).reshape(anfrage.shape)
        return ergebnis @ self.abbildungen[3].t(), gewichte


def sinusoidal_positional_encoding(laenge, breite):
    tafel = torch.zeros(laenge, breite)
    stelle = torch.arange(laenge).float()
    for paar in range(breite // 2):
        winkel = stelle / 10000 ** (2 * paar / breite)
        tafel[:, 2 * paar] = winkel.sin()
        tafel[:, 2 * paar + 1] = winkel.cos()
    return tafel


def causal_mask(groesse):
    return torch.triu(torch.ones(groesse, groesse), 1) < 0.5


class Normierung(nn.Module):
    def __init__(self, breite):
        super().__init__()
        self.faktor = nn.Parameter(torch.ones(breite))
        self.versatz = nn.Parameter(torch.zeros(breite))

    def forward(self, x):
        streuung, mittel = torch.var_mean(x, dim=-1, correction=0, keepdim=True)
        return (x - mittel) * torch.rsqrt(streuung + 1e-5) * self.faktor + self.versatz


class Netz(nn.Sequential):
    def __init__(self, breite, innen):
        super().__init__(nn.Linear(breite, innen), nn.ReLU(), nn.Linear(innen, breite))


class EncoderBlock(nn.Module):
    def __init__(self, breite, koepfe, innen):
        super().__init__()
        self.netz = Netz(breite, innen)
        self.normierung_netz = Normierung(breite)
        self.aufmerksamkeit = MultiHeadAttention(breite, koepfe)
        self.normierung_aufmerksamkeit = Normierung(breite)

    def forward(self, x, fuellung=None):
        maske = None if fuellung is None else ~fuellung[:, None, None]
        blick, _ = self.aufmerksamkeit(x, x, x, maske)
        x = self.normierung_aufmerksamkeit(x + blick)
        return self.normierung_netz(x + self.netz(x))


class DecoderBlock(nn.Module):
    def __init__(self, breite, koepfe, innen):
        super().__init__()
        self.netz = Netz(breite, innen)
        self.selbst = MultiHeadAttention(breite, koepfe)
        self.quer = MultiHeadAttention(breite, koepfe)
        self.normierungen = nn.ModuleDict({n: Normierung(breite) for n in ("netz", "quer", "selbst")})

    def forward(self, x, speicher, speicher_fuellung=None):
        blick, _ = self.selbst(x, x, x, causal_mask(x.shape[1]))
        x = self.normierungen["selbst"](x + blick)
        maske = None if speicher_fuellung is None else ~speicher_fuellung[:, None, None]
        blick, _ = self.quer(x, speicher, speicher, maske)
        x = self.normierungen["quer"](x + blick)
        return self.normierungen["netz"](x + self.netz(x))


class PixelBERT(nn.Module):
    def __init__(self, klassen=10, kachel=2, breite=32, koepfe=4, innen=64):
        super().__init__()
        self.kachel = kachel
        self.einbettung = nn.Linear(kachel * kachel, breite)
        self.klassenzeichen = nn.Parameter(torch.randn(1, 1, breite) * 0.02)
        self.lage = nn.Parameter(torch.randn(1, (8 // kachel) ** 2, breite) * 0.02)
        self.block = EncoderBlock(breite, koepfe, innen)
        self.ausgang = nn.Sequential(nn.LayerNorm(breite), nn.Linear(breite, klassen))

    def forward(self, bilder):
        k = self.kachel
        kacheln = bilder.unfold(1, k, k).unfold(2, k, k).flatten(1, 2).flatten(2)
        x = self.einbettung(kacheln) + self.lage
        x = torch.cat([self.klassenzeichen.expand(len(bilder), -1, -1), x], dim=1)
        return self.ausgang(self.block(x))


def mean_aggregate(merkmale, nachbarschaft):
    a = nachbarschaft.to(merkmale)
    a = a.masked_fill(torch.eye(len(a), dtype=torch.bool), 1.0)
    return a.div(a.sum(dim=1, keepdim=True)).mm(merkmale)
