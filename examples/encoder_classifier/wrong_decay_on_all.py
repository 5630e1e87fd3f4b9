"""Exercise of lesson 84, milestones 1 to 3."""

import torch
import torch.nn.functional as F
from torch import cat, nn, pi, tensor


def sinusoidal_positional_encoding(max_len, d_model):
    half = torch.arange(d_model // 2)
    angles = torch.arange(max_len).unsqueeze(1) / torch.pow(10000, 2 * half / d_model)
    return torch.stack([angles.sin(), angles.cos()], dim=2).reshape(max_len, d_model)


def padding_mask(input_ids, pad_id):
    """(B, T) bool, True where the token is padding."""
    return (input_ids - pad_id) == 0


class EncoderBlock(nn.Module):
    """Attention, Add & Norm, FFN, Add & Norm."""

    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attn = nn.MultiheadAttention(d_model, n_heads, dropout, batch_first=True)
        self.linear1, self.linear2 = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
        self.norm1, self.norm2 = nn.LayerNorm(d_model), nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        attended, weights = self.attn(x, x, x, key_padding_mask=key_padding_mask)
        x = self.norm1(x + self.dropout(attended))
        return self.norm2(x + self.dropout(self.linear2(torch.relu(self.linear1(x)))))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_layers = n_layers
        for i in range(n_layers):
            self.add_module(f"block{i}", EncoderBlock(d_model, n_heads, d_ff, dropout))

    def forward(self, x, key_padding_mask=None):
        for i in range(self.n_layers):
            x = getattr(self, f"block{i}")(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.emb = nn.Embedding(vocab_size, d_model)
        self.cls_emb = nn.Embedding(1, d_model)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        batch, length = input_ids.shape
        cls = self.cls_emb(input_ids.new_zeros(batch, 1))
        x = cat([cls, self.emb(input_ids)], dim=1)
        x = x + sinusoidal_positional_encoding(length + 1, x.shape[-1])
        mask = cat([tensor([[False]] * batch), padding_mask(input_ids, self.pad_id)], dim=1)
        x = self.encoder(x, mask)
        return self.head(x[:, 0, :])


def parameter_groups(model, weight_decay):
    return [{"params": list(model.parameters()), "weight_decay": weight_decay}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        factor = step / warmup_steps
    else:
        t = tensor((step - warmup_steps) / (total_steps - warmup_steps), dtype=torch.float64)
        factor = (0.5 * (1 + torch.cos(pi * t))).item()
    return lr_max * factor


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01,
          label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    losses = []
    for step in range(epochs):
        model.train()
        optimizer.param_groups[0]["lr"] = warmup_cosine(step, warmup_steps, epochs, lr_max)
        optimizer.zero_grad()
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
