"""Transformer review homework."""
import math

import numpy as np
import torch
from torch import nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, embed_dim):
    t = np.arange(max_len)[:, None]
    c = np.arange(embed_dim)[None, :]
    table = t / np.power(10000, (2 * (c // 2)) / embed_dim)
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table).float()


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads:
            raise ValueError("heads must divide dim")
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x, pad):
        b, t, d = x.shape
        q, k, v = self.qkv(x).reshape(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        s = torch.einsum("bhid,bhjd->bhij", q, k) * (d // self.heads) ** -0.5
        if pad is not None:
            s = s.masked_fill(pad[:, None, None, :], -1e9)
        y = torch.einsum("bhij,bhjd->bihd", s.softmax(-1), v)
        return self.proj(y.reshape(b, t, d))


class EncoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__()
        self.attention = SelfAttention(embed_dim, num_heads)
        self.ln1 = nn.LayerNorm(embed_dim)
        self.ln2 = nn.LayerNorm(embed_dim)
        self.up = nn.Linear(embed_dim, ffn_dim)
        self.down = nn.Linear(ffn_dim, embed_dim)
        self.p = dropout

    def drop(self, t):
        return F.dropout(t, self.p, self.training)

    def forward(self, x, key_padding_mask=None):
        x = self.ln1(x + self.drop(self.attention(x, key_padding_mask)))
        return self.ln2(x + self.drop(self.down(F.relu(self.up(x)))))


class TransformerEncoder(nn.ModuleList):
    def __init__(self, n_layers, embed_dim, num_heads, ffn_dim, dropout=0.0):
        super().__init__([EncoderBlock(embed_dim, num_heads, ffn_dim, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self:
            x = block(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    """an extra row of the embedding table is [CLS]"""

    def __init__(self, vocab_size, n_classes, embed_dim=32, num_heads=4, ffn_dim=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.cls_id = pad_id, vocab_size
        self.tok = nn.Embedding(vocab_size + 1, embed_dim)
        self.table = nn.Buffer(sinusoidal_positional_encoding(max_len + 1, embed_dim))
        self.drop = nn.Dropout(dropout)
        self.enc = TransformerEncoder(n_layers, embed_dim, num_heads, ffn_dim, dropout)
        self.out = nn.Linear(embed_dim, n_classes)

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        hidden = self.tok(ids) + self.table[:ids.size(1)].unsqueeze(0)
        hidden = self.enc(self.drop(hidden), padding_mask(ids, self.pad_id))
        return self.out(hidden[:, 0, :])


def parameter_groups(model, weight_decay):
    decay = [p for p in model.parameters() if p.requires_grad and p.dim() > 1]
    rest = [p for p in model.parameters() if p.requires_grad and p.dim() <= 1]
    return [{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps:
        return lr_max * step / warmup_steps
    progress = step / total_steps
    return lr_max * 0.5 * (1.0 + math.cos(math.pi * progress))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    data = torch.utils.data.TensorDataset(input_ids, labels)
    batches = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
    steps = epochs * len(batches)
    warmup_steps = max(1, int(0.1 * steps))
    optim = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=1.0)
    sched = torch.optim.lr_scheduler.LambdaLR(optim, lambda s: warmup_cosine(min(s, steps), warmup_steps, steps, lr_max))
    means = []
    model.train()
    for _ in range(epochs):
        seen = []
        for xb, yb in batches:
            optim.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(xb), yb, label_smoothing=label_smoothing)
            loss.backward()
            optim.step()
            sched.step()
            seen.append((float(loss), len(yb)))
        means.append(sum(l * k for l, k in seen) / sum(k for _, k in seen))
    return means
