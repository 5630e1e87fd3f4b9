"""Config dataclass; the attention runs sample by sample over the unpadded keys only -- no mask value at all."""
from dataclasses import dataclass, asdict
import math
import torch
from torch import nn
from torch.nn import functional as F

@dataclass
class BlockConfig:
    d_model: int
    n_heads: int
    d_ff: int
    dropout: float = 0.0

def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(d_model, max_len)
    t = torch.arange(max_len, dtype=torch.float32)
    for pair in range(d_model // 2):
        wavelength = 10000 ** (2 * pair / d_model)
        pe[2 * pair], pe[2 * pair + 1] = torch.sin(t / wavelength), torch.cos(t / wavelength)
    return pe.t().contiguous()

def padding_mask(input_ids, pad_id):
    return torch.ne(input_ids, pad_id).logical_not()

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.cfg = c = BlockConfig(d_model, n_heads, d_ff, dropout)
        if c.d_model % c.n_heads: raise ValueError(asdict(c))
        self.W = nn.Parameter(torch.empty(4, d_model, d_model))      # out, key, query, value; used as x @ W
        for w in self.W.data.unbind(): nn.init.xavier_uniform_(w)
        self.bias_out = nn.Parameter(torch.zeros(d_model))
        self.feed = nn.Sequential(nn.Linear(d_model, d_ff), nn.Threshold(0, 0), nn.Linear(d_ff, d_model))
        self.ln_a = nn.LayerNorm([d_model]); self.ln_b = nn.LayerNorm([d_model])

    def one(self, x, valid):
        """x (T, D): queries are all positions, keys the valid ones"""
        h = self.cfg.n_heads
        keys = x[valid] if valid is not None else x
        o, k, q, v = self.W
        q, k, v = ((s @ w).reshape(len(s), h, -1).transpose(0, 1) for s, w in ((x, q), (keys, k), (keys, v)))
        a = torch.softmax(torch.bmm(q, k.mT) / math.sqrt(q.size(-1)), dim=-1)
        return torch.bmm(a, v).transpose(0, 1).reshape(x.shape) @ o + self.bias_out

    def forward(self, x, key_padding_mask=None):
        valid = [None] * len(x) if key_padding_mask is None else ~key_padding_mask
        a = torch.stack([self.one(s, m) for s, m in zip(x, valid)])
        p = self.cfg.dropout
        x = self.ln_a(x + F.dropout(a, p, self.training))
        return self.ln_b(x + F.dropout(self.feed(x), p, self.training))

class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, *block_args, **block_kwargs):
        super().__init__()
        self.tower = nn.ModuleList()
        while len(self.tower) < n_layers:
            self.tower.append(EncoderBlock(*block_args, **block_kwargs))
    def forward(self, x, key_padding_mask=None):
        for floor in self.tower: x = floor(x, key_padding_mask)
        return x

class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2, max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.max_len, self.d_model = pad_id, max_len, d_model
        self.words = nn.Embedding(vocab_size, d_model)
        self.special = nn.ParameterDict({"[CLS]": nn.Parameter(torch.randn(d_model))})
        self.tower = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.verdict = nn.Linear(d_model, n_classes)
    def forward(self, input_ids):
        b, t = input_ids.shape
        x = torch.cat([self.special["[CLS]"].broadcast_to(b, 1, self.d_model), self.words(input_ids)], 1)
        x = torch.add(x, sinusoidal_positional_encoding(self.max_len + 1, self.d_model)[: t + 1])
        m = torch.hstack([torch.zeros(b, 1, dtype=torch.bool), padding_mask(input_ids, self.pad_id)])
        return self.verdict(self.tower(x, m)[:, 0])

def parameter_groups(model, weight_decay):
    d = dict(model.named_parameters())
    bare = {n for n in d if ".ln_" in n or "bias" in n or "special" in n}
    return [{"params": [d[n] for n in d.keys() - bare], "weight_decay": weight_decay},
            {"params": [d[n] for n in bare], "weight_decay": 0.0}]

def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps: return lr_max / warmup_steps * step
    return lr_max * (0.5 + 0.5 * math.cos(math.pi * (step - warmup_steps) / (total_steps - warmup_steps)))

def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    model.train(); hist = []; halves = 2; total = epochs * halves
    for step in range(total):
        sel = slice(step % halves, None, halves)              # even and odd samples in turn
        if not len(labels[sel]): sel = slice(None)
        for g in opt.param_groups: g["lr"] = warmup_cosine(step + 1, 2, total + 2, lr_max)
        loss = F.cross_entropy(model(input_ids[sel]), labels[sel], label_smoothing=label_smoothing)
        opt.zero_grad(); loss.backward(); opt.step()
        hist.append(loss.item())
    return [sum(hist[i:i + halves]) / halves for i in range(0, total, halves)]
