"""Aufgabe zu Lektion 84: Klassifikator mit Transformer-Encoder."""
from math import cos, log, pi, sqrt

import torch
from torch import nn
from torch.nn import functional as F


def sinusoidal_positional_encoding(laenge, breite):
    stelle = torch.arange(laenge, dtype=torch.float32).view(-1, 1)
    paar = torch.arange(breite // 2, dtype=torch.float32)
    kreisfrequenz = torch.exp(-log(10000.0) * 2 * paar / breite)
    winkel = stelle * kreisfrequenz
    tabelle = torch.zeros(laenge, breite)
    tabelle[:, ::2] = winkel.sin()
    tabelle[:, 1::2] = winkel.cos()
    return tabelle


def padding_mask(eingabe, fuell_id):
    return eingabe == fuell_id


class Aufmerksamkeit(nn.Module):
    def __init__(self, breite, koepfe):
        super().__init__()
        if breite % koepfe != 0:
            raise ValueError("Die Zahl der Koepfe muss die Breite teilen.")
        self.koepfe = koepfe
        self.kopfbreite = breite // koepfe
        self.frage = nn.Linear(breite, breite)
        self.schluessel = nn.Linear(breite, breite)
        self.wert = nn.Linear(breite, breite)
        self.ausgang = nn.Linear(breite, breite)

    def teilen(self, z):
        n, t, _ = z.size()
        return z.view(n, t, self.koepfe, self.kopfbreite).permute(0, 2, 1, 3)

    def zusammenfuegen(self, z):
        n, h, t, b = z.size()
        return z.permute(0, 2, 1, 3).contiguous().view(n, t, h * b)

    def forward(self, x, maske=None):
        q = self.teilen(self.frage(x))
        k = self.teilen(self.schluessel(x))
        v = self.teilen(self.wert(x))
        punkte = torch.matmul(q, k.transpose(2, 3)) / sqrt(self.kopfbreite)
        if maske is not None:
            punkte = punkte + maske.unsqueeze(1).unsqueeze(2) * float("-inf")
        gewichte = torch.softmax(punkte, dim=3)
        return self.ausgang(self.zusammenfuegen(torch.matmul(gewichte, v)))


class Netz(nn.Module):
    def __init__(self, breite, innen):
        super().__init__()
        self.hinauf = nn.Linear(breite, innen)
        self.hinab = nn.Linear(innen, breite)

    def forward(self, x):
        return self.hinab(F.relu(self.hinauf(x)))


class AddierenUndNormieren(nn.Module):
    """Norm(x + Teilschicht(x))"""

    def __init__(self, breite, teilschicht, ausfall):
        super().__init__()
        self.teilschicht = teilschicht
        self.norm = nn.LayerNorm(breite)
        self.ausfall = nn.Dropout(ausfall)

    def forward(self, x, *weiteres):
        return self.norm(x + self.ausfall(self.teilschicht(x, *weiteres)))


class EncoderBlock(nn.Module):
    def __init__(self, breite, koepfe, innen, ausfall=0.0):
        super().__init__()
        self.erste = AddierenUndNormieren(breite, Aufmerksamkeit(breite, koepfe), ausfall)
        self.zweite = AddierenUndNormieren(breite, Netz(breite, innen), ausfall)

    def forward(self, x, maske=None):
        x = self.erste(x, maske)
        return self.zweite(x)


class TransformerEncoder(nn.Module):
    def __init__(self, schichten, breite, koepfe, innen, ausfall=0.0):
        super().__init__()
        self.schichten = nn.ModuleList()
        for _ in range(schichten):
            self.schichten.append(EncoderBlock(breite, koepfe, innen, ausfall))

    def forward(self, x, maske=None):
        for schicht in self.schichten:
            x = schicht(x, maske)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, wortschatz, klassen, breite=32, koepfe=4, innen=64, schichten=2,
                 hoechstlaenge=64, fuell_id=0, ausfall=0.0):
        super().__init__()
        self.fuell_id = fuell_id
        self.einbettung = nn.Embedding(wortschatz, breite)
        self.cls = nn.Parameter(torch.empty(1, 1, breite).normal_(0, 0.1))
        self.register_buffer("stellen", sinusoidal_positional_encoding(hoechstlaenge + 1, breite))
        self.encoder = TransformerEncoder(schichten, breite, koepfe, innen, ausfall)
        self.kopf = nn.Linear(breite, klassen)

    def forward(self, eingabe):
        n = eingabe.size(0)
        x = self.einbettung(eingabe)
        x = torch.cat((self.cls.expand(n, 1, x.size(2)), x), 1)
        x = x + self.stellen[0:x.size(1)]
        maske = padding_mask(eingabe, self.fuell_id)
        maske = torch.cat((maske.new_zeros((n, 1)), maske), 1)
        x = self.encoder(x, maske)
        erster = x[:, 0, :]
        return self.kopf(erster)


def parameter_groups(modell, zerfall):
    ohne = []
    mit = []
    for modul in modell.modules():
        for name, gewicht in modul.named_parameters(recurse=False):
            if isinstance(modul, nn.Linear) and name == "weight":
                mit.append(gewicht)
            else:
                ohne.append(gewicht)
    return [{"params": mit, "weight_decay": zerfall}, {"params": ohne, "weight_decay": 0.0}]


def warmup_cosine(schritt, anlauf, gesamt, lr_max):
    if schritt < anlauf:
        return lr_max * schritt / anlauf
    anteil = (schritt - anlauf) / max(1, gesamt - anlauf)
    return lr_max * (1 + cos(pi * anteil)) / 2


def train(modell, eingaben, klassen, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimierer = torch.optim.AdamW(parameter_groups(modell, weight_decay), lr=lr_max)
    verlustfunktion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    anlauf = max(1, epochs // 5)
    verluste = []
    modell.train()
    for epoche in range(epochs):
        for gruppe in optimierer.param_groups:
            gruppe["lr"] = warmup_cosine(epoche, anlauf, epochs, lr_max)
        optimierer.zero_grad()
        verlust = verlustfunktion(modell(eingaben), klassen)
        verlust.backward()
        optimierer.step()
        verluste.append(verlust.item())
    modell.eval()
    return verluste
