import dataclasses
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclasses.dataclass
class Config:
    d_model: int = 32
    n_heads: int = 4
    d_ff: int = 64
    dropout: float = 0.0
    vocab_size: int = 100
    n_classes: int = 2
    n_layers: int = 2
    pad_id: int = 0

    @property
    def d_k(self):
        return self.d_model // self.n_heads


def sinusoidal_positional_encoding(max_len, d_model):
    inv_freq = 1.0 / (10000 ** (torch.arange(0, d_model, 2).float() / d_model))
    grid = torch.outer(torch.arange(max_len).float(), inv_freq)
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = grid.sin()
    pe[:, 1::2] = grid.cos()
    return pe


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def attention(query, key, value, mask=None, dropout=None):
    """mask: True = may attend"""
    d_k = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / math.sqrt(d_k)
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    p_attn = F.softmax(scores, dim=-1)
    if dropout is not None:
        p_attn = dropout(p_attn)
    return torch.matmul(p_attn, value), p_attn


class MultiHeadAttention(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        assert cfg.d_model % cfg.n_heads == 0, "heads must divide d_model"
        self.cfg = cfg
        self.linears = nn.ModuleList([nn.Linear(cfg.d_model, cfg.d_model, bias=False) for _ in range(4)])
        self.dropout = nn.Dropout(cfg.dropout)

    def forward(self, query, key, value, mask=None):
        H = self.cfg.n_heads
        q, k, v = [split_heads(lin(t), H) for lin, t in zip(self.linears, (query, key, value))]
        x, self.attn = attention(q, k, v, mask, self.dropout)
        return self.linears[-1](merge_heads(x))


class PositionwiseFeedForward(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.w_1 = nn.Linear(cfg.d_model, cfg.d_ff)
        self.w_2 = nn.Linear(cfg.d_ff, cfg.d_model)
        self.dropout = nn.Dropout(cfg.dropout)

    def forward(self, x):
        return self.w_2(self.dropout(F.relu(self.w_1(x))))


class AddNorm(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.norm = nn.LayerNorm(cfg.d_model)
        self.dropout = nn.Dropout(cfg.dropout)

    def forward(self, x, sublayer):
        return self.norm(x + self.dropout(sublayer(x)))


class EncoderBlock(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.self_attn = MultiHeadAttention(cfg)
        self.feed_forward = PositionwiseFeedForward(cfg)
        self.add_norm = nn.ModuleList([AddNorm(cfg), AddNorm(cfg)])

    def forward(self, x, key_padding_mask=None):
        mask = None
        if key_padding_mask is not None:
            mask = (~key_padding_mask).unsqueeze(1).unsqueeze(1)
        x = self.add_norm[0](x, lambda y: self.self_attn(y, y, y, mask))
        return self.add_norm[1](x, self.feed_forward)


class TransformerEncoder(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.layers = nn.ModuleList([EncoderBlock(cfg) for _ in range(cfg.n_layers)])

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x


class Embeddings(nn.Module):
    """[CLS] + tokens, scaled, plus positions."""

    def __init__(self, vocab_size, d_model, dropout):
        super().__init__()
        self.lut = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model))
        self.d_model = d_model
        self.dropout = nn.Dropout(dropout)

    def forward(self, ids):
        x = self.lut(ids) * math.sqrt(self.d_model)
        x = torch.cat([self.cls.expand(len(ids), -1, -1), x], dim=1)
        pe = sinusoidal_positional_encoding(x.size(1), self.d_model).to(x.device)
        return self.dropout(x + pe)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.pad_id = cfg.pad_id
        self.embeddings = Embeddings(cfg.vocab_size, cfg.d_model, cfg.dropout)
        self.encoder = TransformerEncoder(cfg)
        self.generator = nn.Linear(cfg.d_model, cfg.n_classes)
        for p in self.parameters():
            if p.dim() > 1:
                nn.init.xavier_uniform_(p)

    def forward(self, input_ids):
        x = self.embeddings(input_ids)
        mask = F.pad(padding_mask(input_ids, self.pad_id), (1, 0))
        x = self.encoder(x, mask)
        return self.generator(x[:, 0])


def parameter_groups(model, weight_decay):
    named = list(model.named_parameters())
    decay = [p for n, p in named if p.ndim > 1 and "cls" not in n]
    other = [p for n, p in named if p.ndim == 1 or "cls" in n]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": other, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        factor = step / warmup_steps
    else:
        factor = 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps)))
    return lr_max * factor


class LabelSmoothing(nn.Module):
    def __init__(self, smoothing):
        super().__init__()
        self.smoothing = smoothing

    def forward(self, logits, target):
        logp = F.log_softmax(logits, dim=-1)
        nll = -logp.gather(1, target.unsqueeze(1)).squeeze(1)
        uniform = -logp.mean(dim=-1)
        return ((1 - self.smoothing) * nll + self.smoothing * uniform).mean()


def run_epoch(model, batches, loss_fn, optimizer, scheduler):
    total, count = 0.0, 0
    for xb, yb in batches:
        optimizer.zero_grad()
        loss = loss_fn(model(xb), yb)
        loss.backward()
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(xb)
        count += len(xb)
    return total / count


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    batches = list(zip(torch.split(input_ids, 16), torch.split(labels, 16)))
    total_steps = epochs * len(batches)
    warmup_steps = max(1, int(0.06 * total_steps))
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=1.0, betas=(0.9, 0.98), eps=1e-9)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lr_lambda=lambda s: warmup_cosine(s, warmup_steps, total_steps, lr_max))
    loss_fn = LabelSmoothing(label_smoothing)
    losses = []
    for _ in range(epochs):
        model.train()
        losses.append(run_epoch(model, batches, loss_fn, optimizer, scheduler))
    return losses
