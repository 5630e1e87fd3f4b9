"""One weight (3, H, D, d_k) for all projections."""
import math

import torch
import torch.nn.functional as F
from torch import nn


def sinusoidal_positional_encoding(n_positions, dim):
    rows, cols = torch.meshgrid(torch.arange(n_positions).double(), torch.arange(dim).double(), indexing="ij")
    angle = rows * torch.exp(-math.log(10000.0) * (2 * torch.div(cols, 2, rounding_mode="floor")) / dim)
    even = (cols.long() % 2 == 0).double()
    return (even * angle.sin() + (1 - even) * angle.cos()).float()


def padding_mask(ids, pad):
    return torch.isin(ids, torch.tensor([pad]))


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        d_k = d_model // n_heads
        self.scale = 1.0 / math.sqrt(d_k)
        self.weight = nn.Parameter(torch.randn(3, n_heads, d_model, d_k) / math.sqrt(d_model))
        self.out_weight = nn.Parameter(torch.randn(n_heads, d_k, d_model) / math.sqrt(d_model))
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.ln_att = nn.LayerNorm(d_model)
        self.ln_ffn = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        q, k, v = torch.einsum("btd,phdk->pbhtk", x, self.weight)
        score = torch.einsum("bhqk,bhsk->bhqs", q * self.scale, k)
        if key_padding_mask is not None:
            score = score + key_padding_mask[:, None, None, :].to(score.dtype) * -1e9
        att = torch.softmax(score, dim=-1)
        y = torch.einsum("bhqs,bhsk,hkd->bqd", att, v, self.out_weight)
        x = self.ln_att(x + self.dropout(y))
        return self.ln_ffn(x + self.dropout(self.down(torch.relu(self.up(x)))))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.etages = nn.ModuleDict({f"etage_{i}": EncoderBlock(d_model, n_heads, d_ff, dropout) for i in range(n_layers)})

    def forward(self, x, key_padding_mask=None):
        for etage in self.etages.values():
            x = etage(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.cls_id = vocab_size
        self.scale = math.sqrt(d_model)
        self.embed = nn.Embedding(vocab_size + 1, d_model)
        nn.init.normal_(self.embed.weight, std=d_model ** -0.5)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        x = self.embed(ids) * self.scale + self.pe[: ids.size(1)]
        x = self.encoder(x, padding_mask(ids, self.pad_id))
        return self.head(x[:, 0])


def parameter_groups(model, weight_decay):
    for decays in (True, False):
        members = [p for p in model.parameters() if (p.dim() > 1) is decays]
        if members:
            yield {"params": members, "weight_decay": weight_decay if decays else 0.0}


warmup_cosine = lambda step, warmup_steps, total_steps, lr_max: (
    lr_max * step / warmup_steps if step < warmup_steps
    else lr_max * (0.5 + 0.5 * math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps))))


def smoothed_targets(labels, n_classes, eps):
    return F.one_hot(labels, n_classes).float() * (1 - eps) + eps / n_classes


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    """The loss is the KL divergence to the smoothed target (cross-entropy minus the target's entropy)."""
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    losses = []
    model.train()
    for step in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup_steps, epochs, lr_max)
        log_p = F.log_softmax(model(input_ids), dim=-1)
        target = smoothed_targets(labels, log_p.size(-1), label_smoothing)
        loss = F.kl_div(log_p, target, reduction="batchmean")
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.item())
    return losses
