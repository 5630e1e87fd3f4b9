# Lesson 84 - encoder classifier
import math

import torch
from torch import nn
from torch.nn import functional as F


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    pos = torch.arange(max_len)
    for i in range(0, d_model, 2):
        angle = pos / 10000 ** (i / d_model)
        pe[:, i] = torch.cos(angle)
        pe[:, i + 1] = torch.sin(angle)
    return pe


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            d_model=d_model,
            nhead=n_heads,
            dim_feedforward=d_ff,
            dropout=dropout,
            batch_first=True,
        )

    def forward(self, x, key_padding_mask=None):
        return self.layer(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = nn.ModuleList(
            [EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)]
        )

    def forward(self, x, key_padding_mask=None):
        for block in self.blocks:
            x = block(x, key_padding_mask)
        return x


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
        self.token_embedding = nn.Embedding(vocab_size, d_model)
        self.cls_token = nn.Parameter(torch.zeros(d_model))
        self.register_buffer("pos_encoding", sinusoidal_positional_encoding(max_len, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        tokens = self.token_embedding(input_ids)
        cls = self.cls_token.repeat(B, 1, 1)
        x = torch.cat([cls, tokens], dim=1) + self.pos_encoding[: T + 1]
        mask = padding_mask(input_ids, self.pad_id)
        mask = torch.cat([mask.new_zeros(B, 1), mask], dim=1)
        out = self.encoder(x, mask)
        return self.head(out[:, 0, :])


def parameter_groups(model, weight_decay):
    with_decay = []
    without_decay = []
    for name, param in model.named_parameters():
        if "norm" in name or name.endswith("bias") or "cls" in name:
            without_decay.append(param)
        else:
            with_decay.append(param)
    return [
        {"params": with_decay, "weight_decay": weight_decay},
        {"params": without_decay, "weight_decay": 0.0},
    ]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return step / warmup_steps * lr_max
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return (1 + math.cos(progress * math.pi)) / 2 * lr_max


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup = max(1, epochs // 10)
    losses = []
    model.train()
    for step in range(epochs):
        lr = warmup_cosine(step, warmup, epochs, lr_max)
        for g in opt.param_groups:
            g["lr"] = lr
        opt.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(sinusoidal_positional_encoding(10, 8)[:3, :4])
    ids = torch.randint(1, 12, (24, 6))
    print(train(TransformerEncoderClassifier(12, 3), ids, ids[:, 0] % 3, lr_max=5e-3)[-1])
