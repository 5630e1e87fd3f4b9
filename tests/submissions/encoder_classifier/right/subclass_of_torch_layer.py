"""The block inherits from PyTorch's own."""
import math

import torch
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    # every pair turns by its own angle from one position to the next
    omega = torch.tensor([10000.0 ** (-2 * i / d_model) for i in range(d_model // 2)], dtype=torch.float64)
    turn_cos, turn_sin = torch.cos(omega), torch.sin(omega)
    s, c = torch.zeros_like(omega), torch.ones_like(omega)
    rows = []
    for _ in range(max_len):
        rows.append(torch.stack([s, c], dim=1).flatten())
        s, c = s * turn_cos + c * turn_sin, c * turn_cos - s * turn_sin
    return torch.stack(rows).to(torch.float32)


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return (input_ids - pad_id).abs() < 1


class EncoderBlock(nn.TransformerEncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(d_model, n_heads, d_ff, dropout, activation="relu", batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return super().forward(x, src_key_padding_mask=key_padding_mask)


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


class PositionalEncoding(nn.Module):
    def __init__(self, d_model, dropout=0.0, max_len=512):
        super().__init__()
        self.dropout = nn.Dropout(p=dropout)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model).unsqueeze(0))

    def forward(self, x):
        return self.dropout(x + self.pe[:, : x.size(1)])


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls_token = nn.Parameter(torch.rand(1, 1, d_model))
        self.positional = PositionalEncoding(d_model, dropout, max_len + 1)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.fc = nn.Sequential(nn.Linear(d_model, d_model), nn.GELU(), nn.Linear(d_model, n_classes))

    def forward(self, input_ids):
        b = input_ids.shape[0]
        x = torch.cat([self.cls_token.expand(b, -1, -1), self.embedding(input_ids)], dim=1)
        x = self.positional(x)
        m = torch.cat([torch.zeros(b, 1).bool(), padding_mask(input_ids, self.pad_id)], dim=1)
        return self.fc(self.encoder(x, m)[:, 0, :])


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
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    warmup = max(1, int(epochs * 0.1))
    losses = []
    for epoch in range(epochs):
        model.train()
        lr = warmup_cosine(epoch, warmup, epochs, lr_max)
        for group in optimizer.param_groups:
            group["lr"] = lr
        logits = model(input_ids)
        loss = criterion(logits, labels)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
        model.eval()
        with torch.no_grad():
            accuracy = (model(input_ids).argmax(-1) == labels).float().mean().item()
        print(f"epoch {epoch + 1:3d}/{epochs}  loss {loss.item():.4f}  acc {accuracy:.3f}  lr {lr:.2e}")
    return losses
