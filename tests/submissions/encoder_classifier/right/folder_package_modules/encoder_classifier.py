import torch
from torch import nn

from layers import EncoderBlock, TransformerEncoder
from optim import parameter_groups, warmup_cosine
from positions import sinusoidal_positional_encoding


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


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


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    n, size = input_ids.size(0), 8
    n_batches = -(-n // size)
    total = epochs * n_batches
    warm = max(1, total // 12)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=0.0)
    step, losses = 0, []
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        summed = 0.0
        for rows in order.split(size):
            optimizer.param_groups[0]["lr"] = optimizer.param_groups[1]["lr"] = warmup_cosine(step, warm, total, lr_max)
            logp = model(input_ids[rows]).log_softmax(-1)
            right = logp[torch.arange(len(rows)), labels[rows]]
            per_item = -(1 - label_smoothing) * right - label_smoothing * logp.mean(-1)
            optimizer.zero_grad()
            per_item.mean().backward()
            optimizer.step()
            step += 1
            summed += per_item.sum().item()
        losses.append(summed / n)
    return losses
