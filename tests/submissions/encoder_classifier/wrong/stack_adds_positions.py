"""The stack adds the positions itself."""

import math

import torch
import torch.nn.functional as F
from torch import nn

# ---------- milestone 1: positions ----------


def sinusoidal_positional_encoding(max_len, d_model):
    position = torch.arange(max_len, dtype=torch.float32).unsqueeze(1)  # (max_len, 1)
    exponent = torch.arange(0, d_model, 2, dtype=torch.float32) / d_model  # (D / 2,)
    angle = position / 10000**exponent  # (max_len, D / 2)
    pe = torch.zeros(max_len, d_model)
    pe[:, 0::2] = torch.sin(angle)
    pe[:, 1::2] = torch.cos(angle)
    return pe


# ---------- milestone 2: encoder ----------


def padding_mask(input_ids, pad_id):
    """True = padding, to be ignored"""
    return input_ids == pad_id


class SelfAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model, bias=False)
        self.w_k = nn.Linear(d_model, d_model, bias=False)
        self.w_v = nn.Linear(d_model, d_model, bias=False)
        self.w_o = nn.Linear(d_model, d_model, bias=False)

    def split(self, x):
        batch, length, d_model = x.shape
        return x.view(batch, length, self.n_heads, d_model // self.n_heads).transpose(1, 2)

    def forward(self, x, key_padding_mask=None):
        q, k, v = self.split(self.w_q(x)), self.split(self.w_k(x)), self.split(self.w_v(x))
        scores = q @ k.transpose(-2, -1) / math.sqrt(q.shape[-1])  # (B, H, T, T)
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :], float("-inf"))
        out = scores.softmax(dim=-1) @ v  # (B, H, T, d_k)
        return self.w_o(out.transpose(1, 2).flatten(2))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = SelfAttention(d_model, n_heads)
        self.norm1 = nn.LayerNorm(d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm2 = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attention(x, key_padding_mask)))
        return self.norm2(x + self.dropout(self.ffn(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList(
            EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)
        )

    def forward(self, x, key_padding_mask=None):
        x = x + sinusoidal_positional_encoding(x.shape[1], x.shape[2])
        for block in self.blocks:
            x = block(x, key_padding_mask)
        return x


# ---------- milestone 3: classifier and training ----------


class TransformerEncoderClassifier(nn.Module):
    def __init__(
        self,
        vocab_size,
        n_classes,
        d_model=32,
        n_heads=4,
        d_ff=64,
        n_layers=2,
        max_len=64,
        pad_id=0,
        dropout=0.0,
    ):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        batch = input_ids.shape[0]
        x = torch.cat([self.cls.expand(batch, -1, -1), self.embedding(input_ids)], dim=1)
        mask = F.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=False)  # CLS is no padding
        encoded = self.encoder(x, mask)
        return self.head(encoded[:, 0, :])


def parameter_groups(model, weight_decay):
    decay, no_decay = [], []
    for parameter in model.parameters():
        if parameter.ndim == 2:  # weight matrices and embeddings
            decay.append(parameter)
        else:  # biases, LayerNorm, CLS
            no_decay.append(parameter)
    return [
        {"params": decay, "weight_decay": weight_decay},
        {"params": no_decay, "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * 0.5 * (1 + math.cos(math.pi * progress))


def train(
    model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1
):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)  # one step an epoch: all sentences at once
    losses = []
    model.train()
    for epoch in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(epoch, warmup_steps, epochs, lr_max)
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    model.eval()
    return losses
