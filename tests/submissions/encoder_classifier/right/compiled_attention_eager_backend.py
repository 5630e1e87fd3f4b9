"""torch.compile for the attention."""
import numpy as np
import torch
from torch import nn


def sinusoidal_positional_encoding(max_len, d_model):
    k = np.arange(d_model // 2, dtype=np.float64)
    angles = np.arange(max_len, dtype=np.float64)[:, None] / 10000.0 ** (2.0 * k / d_model)
    table = np.concatenate([np.sin(angles)[..., None], np.cos(angles)[..., None]], axis=-1)
    return torch.from_numpy(table.reshape(max_len, d_model).astype(np.float32))


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


@torch.compile(backend="eager")
def masked_attention(q, k, v, ignore):
    scores = q @ k.transpose(-2, -1) / q.shape[-1] ** 0.5
    scores = scores.masked_fill(ignore[:, None, None, :], float("-inf"))
    return torch.softmax(scores, dim=-1) @ v


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads = n_heads
        self.fused = nn.Linear(d_model, 3 * d_model)
        self.merge = nn.Linear(d_model, d_model)
        self.ffn = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm = nn.ModuleList(nn.LayerNorm(d_model) for _ in range(2))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        b, t, d = x.shape
        if key_padding_mask is None:
            key_padding_mask = x.new_zeros(b, t, dtype=torch.bool)
        q, k, v = self.fused(x).view(b, t, 3, self.n_heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        ctx = masked_attention(q, k, v, key_padding_mask).transpose(1, 2).reshape(b, t, d)
        x = self.norm[0](x + self.drop(self.merge(ctx)))
        return self.norm[1](x + self.drop(self.ffn(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.layers = nn.ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for layer in self.layers:
            x = layer(x, key_padding_mask)
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
    # one group for each parameter
    return [{"params": p, "weight_decay": weight_decay if p.ndim > 1 and "cls" not in name else 0.0, "name": name}
            for name, p in model.named_parameters()]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    x = np.clip((step - warmup_steps) / max(1, total_steps - warmup_steps), 0.0, 1.0)
    return float(lr_max * min(step / warmup_steps, 1.0) * (1.0 + np.cos(np.pi * x)) / 2.0)


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
