import math
from collections import defaultdict

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def sinusoidal_positional_encoding(max_len, d_model):
    pos = torch.arange(max_len, dtype=torch.float64).unsqueeze(-1)
    dim = torch.arange(d_model)
    phase = (dim % 2) * (math.pi / 2)            # cos(a) = sin(a + pi/2)
    return torch.sin(pos / 10000.0 ** ((dim - dim % 2) / d_model) + phase).float()


class Masks:
    @staticmethod
    def padding(input_ids, pad_id):
        return (input_ids == pad_id).bool()


padding_mask = Masks.padding


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
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.vocab_size = pad_id, vocab_size
        self.lookup = nn.Linear(vocab_size, d_model, bias=False)
        nn.init.normal_(self.lookup.weight)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        self.pe = sinusoidal_positional_encoding(max_len + 1, d_model)      # a plain tensor
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.readout = nn.Linear(d_model, n_classes, bias=False)

    def forward(self, input_ids):
        one_hot = F.one_hot(input_ids, self.vocab_size).float()
        x = torch.cat([self.cls.expand(len(input_ids), 1, -1), self.lookup(one_hot)], dim=1)
        x = x + self.pe[: x.shape[1]].to(x.device)
        valid = torch.cat([torch.ones(len(input_ids), 1, dtype=torch.bool), ~padding_mask(input_ids, self.pad_id)], dim=1)
        x = self.encoder(x, ~valid)
        return self.readout(x[:, 0])


def parameter_groups(model, weight_decay):
    groups = defaultdict(list)
    for p in model.parameters():
        groups[weight_decay if p.ndim > 1 else 0.0].append(p)
    return [{"params": ps, "weight_decay": wd, "lr_scale": 1.0, "betas": (0.9, 0.99), "comment": "decayed" if wd else "free"}
            for wd, ps in groups.items()]


class _Schedule:
    """Linear warmup, then half a cosine down to zero."""

    def __call__(self, step, warmup_steps, total_steps, lr_max):
        return lr_max * (self.rise(step, warmup_steps) if step < warmup_steps
                         else self.fall(step - warmup_steps, max(1, total_steps - warmup_steps)))

    @staticmethod
    def rise(step, n):
        return step / n

    @staticmethod
    def fall(step, n):
        return (1.0 + math.cos(step / n * math.pi)) * 0.5


warmup_cosine = _Schedule()


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    data = TensorDataset(input_ids, labels)
    loader = DataLoader(data, batch_size=min(6, len(data)), shuffle=True)
    total_steps = epochs * len(loader)
    warmup_steps = max(1, total_steps // 10)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: warmup_cosine(step, warmup_steps, total_steps, 1.0))
    loss_fn = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    history = []
    for _ in range(epochs):
        model.train()
        losses = []
        for x, y in loader:
            loss = loss_fn(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            losses.append(loss.item())
        history.append(sum(losses) / len(losses))
    model.eval()
    return history
