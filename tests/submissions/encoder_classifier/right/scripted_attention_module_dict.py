"""torch.jit.script for the attention and the mask."""
import copy
import math
from functools import lru_cache
from typing import Optional

import torch
import torch.nn.functional as F
from torch import nn


@lru_cache(maxsize=None)
def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.empty(max_len, d_model)
    t = torch.arange(max_len).float()
    for column in range(0, d_model, 2):
        w = math.exp(-column / d_model * math.log(1e4))
        pe[:, column] = torch.sin(t * w)
        pe[:, column + 1] = torch.cos(t * w)
    return pe


@torch.jit.script
def padding_mask(input_ids: torch.Tensor, pad_id: int) -> torch.Tensor:
    return input_ids == pad_id


@torch.jit.script
def scripted_attention(q: torch.Tensor, k: torch.Tensor, v: torch.Tensor, ignore: Optional[torch.Tensor]) -> torch.Tensor:
    scores = torch.matmul(q, k.transpose(-2, -1)) / math.sqrt(float(q.size(-1)))
    if ignore is not None:
        scores = scores.masked_fill(ignore.unsqueeze(1).unsqueeze(1), float("-inf"))
    return torch.matmul(torch.softmax(scores, dim=-1), v)


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.p = nn.ModuleDict({k: nn.Linear(d_model, d_model, bias=False) for k in ("q", "k", "v", "o")})
        self.f = nn.ModuleDict({"in": nn.Linear(d_model, d_ff), "out": nn.Linear(d_ff, d_model)})
        self.n = nn.ModuleDict({"a": nn.LayerNorm(d_model), "f": nn.LayerNorm(d_model)})
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask: Optional[torch.Tensor] = None):
        b, t, d = x.shape
        q, k, v = [self.p[c](x).view(b, t, self.n_heads, d // self.n_heads).transpose(1, 2) for c in "qkv"]
        a = scripted_attention(q, k, v, key_padding_mask).transpose(1, 2).reshape(b, t, d)
        x = self.n["a"](x + self.dropout(self.p["o"](a)))
        return self.n["f"](x + self.dropout(self.f["out"](F.relu(self.f["in"](x)))))


def clones(module, n):
    return nn.ModuleList([copy.deepcopy(module) for _ in range(n)])


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = clones(EncoderBlock(d_model, n_heads, d_ff, dropout), n_layers)

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.cls_id = vocab_size
        self.scale = math.sqrt(d_model)
        self.embed = nn.Embedding(vocab_size + 1, d_model)
        nn.init.normal_(self.embed.weight, std=d_model ** -0.5)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        x = self.embed(ids) * self.scale + self.pe[: ids.size(1)]
        x = self.encoder(x, padding_mask(ids, self.pad_id))
        return self.head(x[:, 0])


def parameter_groups(model, weight_decay):
    buckets = {"matrices": [], "embeddings": [], "vectors": []}
    embedding_ids = {id(p) for m in model.modules() if isinstance(m, nn.Embedding) for p in m.parameters()}
    for p in model.parameters():
        if not p.requires_grad:
            continue
        if id(p) in embedding_ids:
            buckets["embeddings"].append(p)
        elif p.ndim >= 2:
            buckets["matrices"].append(p)
        else:
            buckets["vectors"].append(p)
    decay_of = {"matrices": weight_decay, "embeddings": 0.0, "vectors": 0.0}
    return [{"params": params, "weight_decay": decay_of[key], "name": key} for key, params in buckets.items() if params]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return step / warmup_steps * lr_max
    x = (step - warmup_steps) / max(total_steps - warmup_steps, 1)
    return lr_max * math.cos(0.5 * math.pi * x) ** 2          # (1 + cos 2a) / 2 = cos^2 a


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warm = max(1, epochs // 8)
    model.train()

    def closure():
        opt.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        return loss

    out = []
    for step in range(epochs):
        for g in opt.param_groups:
            g["lr"] = warmup_cosine(step, warm, epochs, lr_max)
        out.append(opt.step(closure).item())
    return out
