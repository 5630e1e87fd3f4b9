"""Every matrix of a block is a slice of one flat Parameter; complex-number PE; mini-batches of 5."""
import math, torch
from torch import nn
import torch.nn.functional as F

def sinusoidal_positional_encoding(max_len, d_model):
    w = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    ang = torch.outer(torch.arange(max_len, dtype=torch.float64), w)
    z = torch.polar(torch.ones_like(ang), math.pi / 2 - ang)      # sin + i cos ... re = sin, im = cos
    return torch.view_as_real(z).flatten(-2).float()

def padding_mask(input_ids, pad_id):
    return torch.eq(input_ids, pad_id)

class EncoderBlock(nn.Module):
    """Conv1d of width one; drops padded keys by indexing, one sample and one head at a time"""
    def __init__(self, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        if d_model % n_heads: raise ValueError
        self.h = n_heads
        self.kvq = nn.Conv1d(d_model, 3 * d_model, 1, bias=False)
        self.o = nn.Conv1d(d_model, d_model, 1)
        self.f1, self.f2 = nn.Conv1d(d_model, d_ff, 1), nn.Conv1d(d_ff, d_model, 1)
        self.norms = nn.ModuleList(nn.GroupNorm(1, d_model) for _ in range(2))
        self.d1 = nn.Dropout(dropout)
    def n(self, i, x):
        B, T, D = x.shape
        return self.norms[i](x.reshape(B * T, D)).reshape(B, T, D)
    def forward(self, x, key_padding_mask=None):
        rows = []
        k, v, q = self.kvq(x.transpose(1, 2)).chunk(3, 1)
        for n in range(len(x)):
            keep = slice(None) if key_padding_mask is None else (key_padding_mask[n] == 0).nonzero()[:, 0]
            hs = []
            for kk, vv, qq in zip(k[n].chunk(self.h), v[n].chunk(self.h), q[n].chunk(self.h)):
                kk, vv = kk[:, keep], vv[:, keep]
                w = torch.softmax((qq.T @ kk) * len(kk) ** -0.5, 1)
                hs.append(vv @ w.T)
            rows.append(torch.cat(hs))
        x = self.n(0, x + self.d1(self.o(torch.stack(rows)).transpose(1, 2)))
        return self.n(1, x + self.d1(self.f2(self.f1(x.transpose(1, 2)).relu()).transpose(1, 2)))

class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.1):
        super().__init__()
        for i in range(n_layers):
            self.add_module(f"layer{i}", EncoderBlock(d_model, n_heads, d_ff, dropout))
    def forward(self, x, key_padding_mask=None):
        for b in self.children(): x = b(x, key_padding_mask)
        return x

class TransformerEncoderClassifier(nn.Module):
    """CLS is the last row of the embedding table; tanh pooler"""
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2, max_len=64, pad_id=0, dropout=0.1):
        super().__init__()
        self.cls_id, self.pad_id = vocab_size, pad_id
        self.table = nn.Embedding(vocab_size + 1, d_model)
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len + 1, d_model), persistent=False)
        self.enc = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.pooler = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh())
        self.out = nn.Linear(d_model, n_classes)
    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        m = padding_mask(ids, self.pad_id)
        x = self.table(ids) + self.pe[:ids.shape[1]]
        return self.out(self.pooler(self.enc(x, m)[:, 0]))

def parameter_groups(model, weight_decay):
    yes, no = [], []
    for n, p in model.named_parameters():
        (no if 'bias' in n or 'norm' in n else yes).append(p)
    return ({"params": yes, "weight_decay": weight_decay}, {"params": no, "weight_decay": 0.0})

def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step < warmup_steps: return lr_max * step / warmup_steps
    t = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * math.cos(math.pi / 2 * t) ** 2

def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=1.0)
    n = len(labels); per = -(-n // 5); total = per * epochs; warm = max(1, total // 10)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: warmup_cosine(min(s + 1, total), warm, total, lr_max))
    model.train(); out = []
    for _ in range(epochs):
        acc = 0.
        for idx in torch.randperm(n).split(5):
            loss = F.cross_entropy(model(input_ids[idx]), labels[idx], label_smoothing=label_smoothing)
            opt.zero_grad(); loss.backward(); opt.step(); sched.step()
            acc += loss.item() * len(idx)
        out.append(acc / n)
    return out
