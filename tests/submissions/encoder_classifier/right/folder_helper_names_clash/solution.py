import copy
import math

import torch
import torch.nn.functional as F
from torch import nn

import helpers

MY_SEED = helpers.SEED


def sinusoidal_positional_encoding(max_len, d_model):
    def entry(pos, j):
        angle = pos / 10000 ** ((j - j % 2) / d_model)
        return math.cos(angle) if j % 2 else math.sin(angle)
    return torch.tensor([[entry(pos, j) for j in range(d_model)] for pos in range(max_len)])


def padding_mask(input_ids, pad_id):
    real = (input_ids != pad_id)
    return torch.logical_not(real)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.q, self.k, self.v, self.o = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.mlp = nn.Sequential()
        self.mlp.add_module("up", nn.Linear(d_model, d_ff))
        self.mlp.add_module("act", nn.ReLU())
        self.mlp.add_module("down", nn.Linear(d_ff, d_model))
        self.na, self.nb = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.drop = nn.Dropout(dropout)
        self.last_weights = None        # kept for a look at them; makes copy.deepcopy fail after a forward

    def forward(self, x, key_padding_mask=None):
        b, t, d = x.shape
        q, k, v = (m(x).reshape(b, t, self.n_heads, d // self.n_heads).swapaxes(1, 2) for m in (self.q, self.k, self.v))
        s = q @ k.swapaxes(-1, -2)
        s = s / s.new_tensor(d // self.n_heads).sqrt()
        if key_padding_mask is not None:
            s[key_padding_mask[:, None, None, :].expand_as(s)] = -1e8
        self.last_weights = s.softmax(-1)
        a = self.o((self.last_weights @ v).swapaxes(1, 2).reshape(b, t, d))
        x = self.na(x + self.drop(a))
        return self.nb(x + self.drop(self.mlp(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.etages = nn.ModuleDict({f"etage_{i}": EncoderBlock(d_model, n_heads, d_ff, dropout) for i in range(n_layers)})

    def forward(self, x, key_padding_mask=None):
        for etage in self.etages.values():
            x = etage(x, key_padding_mask)
        return x


class Pooler(nn.Module):
    """BERT's pooler: a hidden layer with tanh over [CLS]."""

    def __init__(self, d_model):
        super().__init__()
        self.dense = nn.Linear(d_model, d_model)

    def forward(self, hidden):
        return torch.tanh(self.dense(hidden[:, 0]))


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.d_model = pad_id, d_model
        self.word = nn.Embedding(vocab_size, d_model)
        self.special = nn.Embedding(1, d_model)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.pooler = Pooler(d_model)
        self.classify = nn.Linear(d_model, n_classes)

    def embed(self, input_ids):
        cls = self.special.weight.unsqueeze(0).expand(input_ids.size(0), -1, -1)
        x = torch.cat([cls, self.word(input_ids)], dim=1)
        return x + sinusoidal_positional_encoding(x.size(1), self.d_model)

    def forward(self, input_ids):
        mask = padding_mask(input_ids, self.pad_id)
        mask = torch.cat([torch.zeros_like(mask[:, :1]), mask], dim=1)
        hidden = self.encoder(self.embed(input_ids), mask)
        return self.classify(self.pooler(hidden))


def parameter_groups(model, weight_decay):
    for decays in (True, False):
        members = [p for p in model.parameters() if (p.dim() > 1) is decays]
        if members:
            yield {"params": members, "weight_decay": weight_decay if decays else 0.0}


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    step = min(max(step, 0), total_steps)
    if step < warmup_steps:
        return lr_max * step / max(1, warmup_steps)
    fraction = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * lr_max * (1.0 + math.cos(math.pi * min(1.0, fraction)))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    losses = []
    model.train()
    for step in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup_steps, epochs, lr_max)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
