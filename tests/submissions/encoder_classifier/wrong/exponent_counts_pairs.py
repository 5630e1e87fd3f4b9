from torch import nn
from torch.nn import functional as F
import torch, math
import numpy as np


def sinusoidal_positional_encoding(max_len, d_model):
    i = torch.arange(d_model // 2, dtype=torch.float64)
    freq = 10000.0 ** (-i / d_model)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    return torch.stack((angle.sin(), angle.cos()), dim=-1).flatten(1).float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    """PyTorch's own layer under our name"""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(d_model, n_heads, d_ff, dropout, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return self.layer(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.randn(1, 1, d_model) * 0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = torch.cat([self.cls.expand(B, -1, -1), self.embedding(input_ids)], dim=1)
        x = x + self.pe[:T + 1]
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([torch.zeros(B, 1, dtype=torch.bool), pad], dim=1)
        h = self.encoder(x, pad)
        return self.head(h[:, 0])


def parameter_groups(model, weight_decay):
    heavy = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    light = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return [{"params": heavy, "weight_decay": weight_decay}, {"params": light, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * 0.5 * (1.0 + math.cos(math.pi * progress))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warm = max(1, epochs // 10)
    losses = []
    for epoch in range(epochs):
        model.train()
        for g in opt.param_groups:
            g["lr"] = warmup_cosine(epoch, warm, epochs, lr_max)
        opt.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        opt.step()
        losses.append(loss.item())
    return losses


if __name__ == "__main__":
    print(sinusoidal_positional_encoding(10, 8)[:3, :4])
    net = TransformerEncoderClassifier(20, 2)
    toks = torch.randint(1, 20, (16, 6))
    print(train(net, toks, toks[:, 0] % 2)[-1])
