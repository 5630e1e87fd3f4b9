import math

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class _Sinusoid:
    def __init__(self, base=10000.0):
        self.base = base

    def __call__(self, max_len, d_model):
        step = torch.arange(0, d_model, 2).float().div(d_model).mul(math.log(self.base)).neg().exp()
        phase = torch.arange(max_len).float().unsqueeze(1).mul(step)
        pe = phase.new_zeros(max_len, d_model)
        pe[:, 0::2].copy_(phase.sin())
        pe[:, 1::2].copy_(phase.cos())
        return pe


sinusoidal_positional_encoding = _Sinusoid()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class Norm(nn.Module):
    def __init__(self, size, eps=1e-12):
        super().__init__()
        self.alpha = nn.Parameter(torch.ones(size))
        self.offset = nn.Parameter(torch.zeros(size))
        self.eps = eps

    def forward(self, x):
        centred = x - x.mean(dim=-1, keepdim=True)
        return self.alpha * centred * torch.rsqrt(centred.pow(2).mean(-1, keepdim=True) + self.eps) + self.offset


class Residual(nn.Module):
    def __init__(self, fn, size, dropout):
        super().__init__()
        self.fn = fn
        self.norm = Norm(size)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, **kwargs):
        return self.norm(x + self.dropout(self.fn(x, **kwargs)))


class SelfAttention(nn.Module):
    def __init__(self, size, heads):
        super().__init__()
        self.heads = heads
        self.to_qkv = nn.Linear(size, size * 3, bias=False)
        self.to_out = nn.Linear(size, size)

    def forward(self, x, mask=None):
        b, n, d = x.shape
        q, k, v = [t.reshape(b, n, self.heads, -1).permute(0, 2, 1, 3).reshape(b * self.heads, n, -1)
                   for t in self.to_qkv(x).chunk(3, dim=-1)]
        sim = torch.bmm(q, k.transpose(1, 2)) / (d // self.heads) ** 0.5
        if mask is not None:
            sim.masked_fill_(mask.repeat_interleave(self.heads, dim=0)[:, None, :], -1e4)
        out = torch.bmm(sim.softmax(-1), v)
        return self.to_out(out.view(b, self.heads, n, -1).permute(0, 2, 1, 3).reshape(b, n, d))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attend = Residual(SelfAttention(d_model, n_heads), d_model, dropout)
        self.transform = Residual(nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model)), d_model, dropout)

    def forward(self, x, key_padding_mask=None):
        return self.transform(self.attend(x, mask=key_padding_mask))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.first = EncoderBlock(d_model, n_heads, d_ff, dropout)
        self.rest = TransformerEncoder(n_layers - 1, d_model, n_heads, d_ff, dropout) if n_layers > 1 else None

    def forward(self, x, key_padding_mask=None):
        x = self.first(x, key_padding_mask)
        if self.rest is not None:
            x = self.rest(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.1):
        super().__init__()
        self.pad_id = pad_id
        self.tokens = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.cls = nn.Parameter(torch.randn(1, d_model) * 0.02)
        self.emb_norm = nn.LayerNorm(d_model)
        self.emb_drop = nn.Dropout(dropout)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model), persistent=False)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Sequential(nn.LayerNorm(d_model), nn.Dropout(dropout), nn.Linear(d_model, n_classes))

    def forward(self, input_ids):
        batch = input_ids.size(0)
        x = torch.cat([self.cls.repeat(batch, 1).unsqueeze(1), self.tokens(input_ids)], dim=1)
        x = self.emb_drop(self.emb_norm(x + self.pe[None, : x.size(1)]))
        keep_cls = torch.zeros(batch, 1, dtype=torch.bool, device=input_ids.device)
        x = self.encoder(x, torch.hstack([keep_cls, padding_mask(input_ids, self.pad_id)]))
        return self.head(x.select(1, 0))


def parameter_groups(model, weight_decay):
    return [
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    step = min(max(step, 0), total_steps)
    if step < warmup_steps:
        return lr_max * step / max(1, warmup_steps)
    fraction = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * lr_max * (1.0 + math.cos(math.pi * min(1.0, fraction)))


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
