"""Convolutions of width 1 for every linear map."""
import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


def sinusoidal_positional_encoding(max_len, d_model):
    def entry(pos, j):
        angle = pos / 10000 ** ((j - j % 2) / d_model)
        return math.cos(angle) if j % 2 else math.sin(angle)
    return torch.tensor([[entry(pos, j) for j in range(d_model)] for pos in range(max_len)])


def padding_mask(input_ids, pad_id):
    real = (input_ids != pad_id)
    return torch.logical_not(real)


class EncoderBlock(nn.Module):
    """All linear maps are convolutions of width 1."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.to_q = nn.Conv1d(d_model, d_model, 1, bias=False)
        self.to_k = nn.Conv1d(d_model, d_model, 1, bias=False)
        self.to_v = nn.Conv1d(d_model, d_model, 1, bias=False)
        self.to_out = nn.Conv1d(d_model, d_model, kernel_size=1, bias=False)
        self.net = nn.Sequential(nn.Conv1d(d_model, d_ff, 1), nn.ReLU(), nn.Dropout(dropout), nn.Conv1d(d_ff, d_model, 1))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        n, t, d = x.shape
        c = x.transpose(1, 2)                                   # (N, D, T)
        q, k, v = (f(c).view(n, self.n_heads, d // self.n_heads, t) for f in (self.to_q, self.to_k, self.to_v))
        scores = q.transpose(2, 3) @ k / math.sqrt(d // self.n_heads)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :], -math.inf)
        w = F.softmax(scores, -1)
        ctx = (v @ w.transpose(2, 3)).reshape(n, d, t)
        x = self.norm1(x + self.dropout(self.to_out(ctx)).transpose(1, 2))
        y = self.net(x.transpose(1, 2)).transpose(1, 2)
        return self.norm2(x + self.dropout(y))


class TransformerEncoder(nn.Sequential):
    def __init__(self, n_layers, *sizes, **options):
        super().__init__(*[EncoderBlock(*sizes, **options) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self:
            x = block(x, key_padding_mask)
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
    decay, no_decay = set(), set()
    kinds = (nn.LayerNorm, nn.GroupNorm, nn.Embedding)
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            exempt = isinstance(module, kinds) or "bias" in name or p.ndim < 2
            (no_decay if exempt else decay).add(p)
    return [{"params": list(decay), "weight_decay": weight_decay},
            {"params": list(no_decay), "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    t = torch.tensor((step - warmup_steps) / max(1, total_steps - warmup_steps), dtype=torch.float64)
    return (lr_max * 0.5 * (1 + torch.cos(torch.pi * t))).item()


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
