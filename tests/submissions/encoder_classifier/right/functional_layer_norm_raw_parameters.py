"""No nn.Linear and no nn.LayerNorm anywhere in the block."""
import math
from functools import reduce

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    def entry(pos, j):
        angle = pos / 10000 ** ((j - j % 2) / d_model)
        return math.cos(angle) if j % 2 else math.sin(angle)
    return torch.tensor([[entry(pos, j) for j in range(d_model)] for pos in range(max_len)])


def padding_mask(ids, pad):
    return torch.isin(ids, torch.tensor([pad]))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.d_model, self.n_heads, self.rate = d_model, n_heads, dropout
        shapes = {"wq": (d_model, d_model), "wk": (d_model, d_model), "wv": (d_model, d_model), "wo": (d_model, d_model),
                  "w1": (d_ff, d_model), "w2": (d_model, d_ff)}
        for name, shape in shapes.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape) * shape[1] ** -0.5))
        self.b1 = nn.Parameter(torch.zeros(d_ff))
        self.b2 = nn.Parameter(torch.zeros(d_model))
        for name in ("gain1", "gain2"):
            self.register_parameter(name, nn.Parameter(torch.ones(d_model)))
        for name in ("shift1", "shift2"):
            self.register_parameter(name, nn.Parameter(torch.zeros(d_model)))

    def forward(self, x, key_padding_mask=None):
        width = self.d_model // self.n_heads
        q, k, v = F.linear(x, self.wq), F.linear(x, self.wk), F.linear(x, self.wv)
        pieces = []
        for h in range(self.n_heads):
            part = slice(h * width, (h + 1) * width)
            scores = q[..., part] @ k[..., part].transpose(1, 2) / math.sqrt(width)
            if key_padding_mask is not None:
                scores = scores.masked_fill(key_padding_mask.unsqueeze(1), float("-inf"))
            pieces.append(F.softmax(scores, dim=2) @ v[..., part])
        attn = F.linear(torch.cat(pieces, dim=2), self.wo)
        x = F.layer_norm(x + F.dropout(attn, self.rate, self.training), (self.d_model,), self.gain1, self.shift1)
        ffn = F.linear(F.relu(F.linear(x, self.w1, self.b1)), self.w2, self.b2)
        return F.layer_norm(x + F.dropout(ffn, self.rate, self.training), (self.d_model,), self.gain2, self.shift2)


class TransformerEncoder(nn.Module):
    def __init__(self, depth, dim, heads, hidden, p=0.0):
        super().__init__()
        self.depth = nn.ModuleList([EncoderBlock(dim, heads, hidden, p) for _ in range(depth)])

    def forward(self, x, padding=None):
        return reduce(lambda h, block: block(h, padding), self.depth, x)


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
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    return ({"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0})


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


class WarmupCosine(torch.optim.lr_scheduler.LRScheduler):
    def __init__(self, optimizer, warmup_steps, total_steps, lr_max):
        self.args = (warmup_steps, total_steps, lr_max)
        super().__init__(optimizer)

    def get_lr(self):
        return [warmup_cosine(self.last_epoch, *self.args) for _ in self.optimizer.param_groups]


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    scheduler = WarmupCosine(optimizer, max(1, epochs // 10), epochs, lr_max)
    model.train()
    losses = []
    for _ in range(epochs):
        optimizer.zero_grad()
        loss = nn.functional.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(float(loss))
    return losses
