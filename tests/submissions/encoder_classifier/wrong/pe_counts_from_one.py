import math
import torch
import torch.nn as nn


def sinusoidal_positional_encoding(max_len, d_model):
    positions = torch.arange(1, max_len + 1, dtype=torch.float64).unsqueeze(1)
    freqs = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angles = positions * freqs
    table = torch.empty(max_len, d_model, dtype=torch.float64)
    table[:, 0::2] = angles.sin()
    table[:, 1::2] = angles.cos()
    return table.float()


def padding_mask(input_ids, pad_id):
    return torch.eq(input_ids, pad_id)


class EncoderBlock(nn.Module):
    """PyTorch's own layer; post-norm and ReLU are its defaults."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layer = nn.TransformerEncoderLayer(
            d_model, n_heads, dim_feedforward=d_ff, dropout=dropout, batch_first=True)

    def forward(self, x, key_padding_mask=None):
        return self.layer(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        layer = nn.TransformerEncoderLayer(
            d_model, n_heads, dim_feedforward=d_ff, dropout=dropout, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, num_layers=n_layers)

    def forward(self, x, key_padding_mask=None):
        return self.encoder(x, src_key_padding_mask=key_padding_mask)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.embedding = nn.Embedding(vocab_size, d_model)
        self.cls = nn.Parameter(torch.zeros(1, 1, d_model))
        nn.init.normal_(self.cls, std=0.02)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model).unsqueeze(0))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.fc = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        B, T = input_ids.shape
        x = self.embedding(input_ids)
        x = torch.cat([self.cls.repeat(B, 1, 1), x], dim=1)
        x = x + self.pe[:, :x.shape[1]]
        mask = padding_mask(input_ids, self.pad_id)
        mask = torch.cat([torch.zeros((B, 1), dtype=torch.bool), mask], dim=1)
        x = self.encoder(x, mask)
        pooled = x[:, 0]
        return self.fc(pooled)


def parameter_groups(model, weight_decay):
    skip = ("bias", "norm")
    decay = [p for n, p in model.named_parameters() if not any(s in n for s in skip)]
    no_decay = [p for n, p in model.named_parameters() if any(s in n for s in skip)]
    return [{"params": decay, "weight_decay": weight_decay},
            {"params": no_decay, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = (step - warmup_steps) / max(total_steps - warmup_steps, 1)
    return lr_max / 2 * (1 + math.cos(math.pi * progress))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01,
          label_smoothing=0.1):
    model.train()
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    scheduler = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: warmup_cosine(s, warmup_steps, epochs, lr_max) / lr_max)
    loss_fn = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    losses = []
    for epoch in range(epochs):
        optimizer.zero_grad()
        logits = model(input_ids)
        loss = loss_fn(logits, labels)
        loss.backward()
        optimizer.step()
        scheduler.step()
        losses.append(loss.item())
    return losses
