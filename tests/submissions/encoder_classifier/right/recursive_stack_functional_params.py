"""The encoder is recursive: block + the encoder of the rest. Weights live in one flat ParameterDict per block."""
import math
import torch
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    half = torch.arange(d_model // 2)
    ang = torch.arange(max_len)[:, None] / (10000 ** (half * 2 / d_model))[None, :]
    return torch.stack([torch.sin(ang), torch.cos(ang)], dim=2).reshape(max_len, d_model)


padding_mask = torch.eq


def layer_norm(x, g, b, eps=1e-12):
    c = x - x.mean(dim=-1, keepdim=True)
    return c * torch.rsqrt(c.square().mean(dim=-1, keepdim=True) + eps) * g + b


def attention_block(P, h, x, ignore):
    B, T, D = x.shape
    # heads are the LAST axis of the projections: D = d_k x H
    q, k, v = ((torch.einsum("btd,de->bte", x, P[n]) + P["b" + n]).view(B, T, D // h, h) for n in "qkv")
    s = torch.einsum("bikh,bjkh->bhij", q, k) * (D // h) ** -0.5
    if ignore is not None:
        s = s.masked_fill(ignore.view(B, 1, 1, T), torch.finfo(s.dtype).min)
    y = torch.einsum("bhij,bjkh->bikh", s.softmax(dim=3), v).reshape(B, T, D)
    return torch.einsum("btd,de->bte", y, P["o"]) + P["bo"]


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        if d_model % n_heads:
            raise ValueError
        self.n_heads = n_heads
        P = {}
        for n in "qkvo":
            P[n] = torch.nn.init.xavier_uniform_(torch.empty(d_model, d_model))
            P["b" + n] = torch.zeros(d_model)
        P["up"], P["bup"] = nn.init.xavier_uniform_(torch.empty(d_model, d_ff)), torch.zeros(d_ff)
        P["dn"], P["bdn"] = nn.init.xavier_uniform_(torch.empty(d_ff, d_model)), torch.zeros(d_model)
        for i in "12":
            P["g" + i], P["s" + i] = torch.ones(d_model), torch.zeros(d_model)
        self.P = nn.ParameterDict({k: nn.Parameter(v) for k, v in P.items()})
        self.drop = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        P = self.P
        x = layer_norm(x + self.drop(attention_block(P, self.n_heads, x, key_padding_mask)), P["g1"], P["s1"])
        f = torch.maximum(x @ P["up"] + P["bup"], torch.zeros(())) @ P["dn"] + P["bdn"]
        return layer_norm(x + self.drop(f), P["g2"], P["s2"])


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.first = EncoderBlock(d_model, n_heads, d_ff, dropout)
        self.rest = TransformerEncoder(n_layers - 1, d_model, n_heads, d_ff, dropout) if n_layers > 1 else None

    def forward(self, x, key_padding_mask=None):
        x = self.first(x, key_padding_mask)
        return x if self.rest is None else self.rest(x, key_padding_mask)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.tok = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(d_model))
        self.stack = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.logits = nn.Linear(d_model, n_classes)
        self.max_len = max_len

    def embed(self, input_ids):
        B, T = input_ids.shape
        if T + 1 > self.max_len:
            raise ValueError(f"sequence of {T} (+ CLS) is longer than {self.max_len}")
        x = self.tok.weight.new_empty(B, T + 1, self.cls.numel())
        x[:, 0] = self.cls
        x[:, 1:] = self.tok(input_ids)
        return x + sinusoidal_positional_encoding(T + 1, x.size(-1)).to(x)

    def forward(self, input_ids):
        ignore = nn.functional.pad(padding_mask(input_ids, self.pad_id), (1, 0))
        return self.logits(self.stack(self.embed(input_ids), ignore)[:, 0])


def parameter_groups(model, weight_decay):
    vectors = [p for p in model.parameters() if p.dim() == 1]
    matrices = [p for p in model.parameters() if p.dim() != 1]
    return [{"params": matrices, "weight_decay": weight_decay}, {"params": vectors, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    """as an interpolation between the two phases"""
    phase = "up" if step < warmup_steps else "down"
    match phase:
        case "up":
            return lr_max * step / warmup_steps
        case _:
            return lr_max / 2 * (math.cos((step - warmup_steps) / (total_steps - warmup_steps) * math.pi) + 1)


class Trainer:
    def __init__(self, model, epochs, lr_max, weight_decay, label_smoothing):
        self.model, self.epochs = model, epochs
        self.loss = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
        self.opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
        warm = 3
        base = max(epochs, warm + 1)
        self.sched = torch.optim.lr_scheduler.LambdaLR(
            self.opt, [lambda s: warmup_cosine(s + 1, warm, base + 1, 1.0)] * 2)

    def epoch(self, x, y):
        def closure():
            self.opt.zero_grad()
            l = self.loss(self.model(x), y)
            l.backward()
            return l
        loss = self.opt.step(closure)
        self.sched.step()
        return loss.item()


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    t = Trainer(model.train(), epochs, lr_max, weight_decay, label_smoothing)
    return [t.epoch(input_ids, labels) for _ in range(epochs)]
