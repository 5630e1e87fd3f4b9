import math

import torch
import torch.nn.functional as F
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
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_heads, self.d_k = n_heads, d_model // n_heads
        self.qk = nn.Linear(d_model, 2 * d_model, bias=False)
        self.v = nn.Linear(d_model, d_model, bias=True)
        self.out = nn.Linear(d_model, d_model, bias=True)
        self.expand = nn.Linear(d_model, d_ff)
        self.contract = nn.Linear(d_ff, d_model)
        self.post_attn_norm = nn.LayerNorm(d_model)
        self.post_ffn_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(dropout)

    def softmax(self, scores, keep):
        # softmax by hand: the exponentials of padded keys become 0 before the sum is taken
        e = torch.exp(scores - scores.amax(dim=-1, keepdim=True))
        if keep is not None:
            e = e * keep
        return e / e.sum(dim=-1, keepdim=True)

    def forward(self, x, key_padding_mask=None):
        n, t, d = x.shape
        q, k = self.qk(x).view(n, t, 2, self.n_heads, self.d_k).unbind(2)
        v = self.v(x).view(n, t, self.n_heads, self.d_k)
        scores = torch.einsum("nihd,njhd->nhij", q, k) / self.d_k ** 0.5
        keep = None
        if key_padding_mask is not None:
            keep = key_padding_mask.logical_not()[:, None, None].float()
            scores = scores.masked_fill(keep == 0, -1e5)
        ctx = torch.einsum("nhij,njhd->nihd", self.softmax(scores, keep), v).reshape(n, t, d)
        x = self.post_attn_norm(x + self.dropout(self.out(ctx)))
        h = self.expand(x)
        h = h * (h > 0)
        return self.post_ffn_norm(x + self.dropout(self.contract(h)))


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
    return [
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim >= 2], "weight_decay": weight_decay},
        {"params": [p for p in model.parameters() if p.requires_grad and p.ndim < 2], "weight_decay": 0.0},
    ]


def warmup_cosine(step: int, warmup_steps: int, total_steps: int, lr_max: float) -> float:
    step = min(max(step, 0), total_steps)
    if step < warmup_steps:
        return lr_max * step / max(1, warmup_steps)
    fraction = (step - warmup_steps) / max(1, total_steps - warmup_steps)
    return 0.5 * lr_max * (1.0 + math.cos(math.pi * min(1.0, fraction)))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warmup_steps = max(1, epochs // 10)
    losses = []
    model.train()
    for step in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup_steps, epochs, lr_max)
        optimizer.zero_grad(set_to_none=True)
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), max_norm=1.0)
        optimizer.step()
        losses.append(loss.item())
    return losses
