"""Block made by closures; keys and values from one kv projection; EncoderBlock is a thin class."""
import math, torch
import torch.nn as nn, torch.nn.functional as F
from torch.optim import AdamW

def sinusoidal_positional_encoding(max_len, d_model):
    def angle(pos, i): return pos / math.pow(10000, 2 * (i // 2) / d_model)
    return torch.tensor([[(math.sin, math.cos)[i % 2](angle(p, i)) for i in range(d_model)] for p in range(max_len)])

def padding_mask(input_ids, pad_id): return torch.where(input_ids == pad_id, True, False)

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        assert d_model % n_heads == 0
        q = nn.Linear(d_model, d_model, bias=False); kv = nn.Linear(d_model, 2 * d_model, bias=False); o = nn.Linear(d_model, d_model)
        up = nn.Linear(d_model, d_ff); down = nn.Linear(d_ff, d_model)
        a = nn.LayerNorm(d_model); b = nn.LayerNorm(d_model)
        self.holder = nn.ModuleList([q, kv, o, up, down, b, a])
        drop = nn.Dropout(dropout); self.holder.append(drop)
        def sees(x, ignore):
            def heads(y): return y.view(*y.shape[:2], n_heads, -1).transpose(1, 2)
            k, v = map(heads, (F.linear(x, kv.weight[:d_model]), F.linear(x, kv.weight[d_model:])))
            s = heads(q(x)) @ k.mT / (d_model // n_heads) ** .5
            if ignore is not None:
                s = s + torch.where(ignore, -1e6, 0.0)[:, None, None, :]
            return o((s.softmax(-1) @ v).transpose(1, 2).flatten(2))
        def run(x, ignore):
            x = a(x + drop(sees(x, ignore)))
            return b(x + drop(down(F.relu(up(x)))))
        self.run = run                      # a closure: this module cannot be deep-copied faithfully
    def forward(self, x, key_padding_mask=None): return self.run(x, key_padding_mask)

class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.steps = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])
    def forward(self, x, key_padding_mask=None):
        from functools import reduce
        return reduce(lambda h, step: step(h, key_padding_mask), self.steps, x)

class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2, max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.E = nn.Embedding(vocab_size + 1, d_model)      # row 0 is CLS, token t is row t + 1
        self.PE = nn.Buffer(sinusoidal_positional_encoding(max_len + 1, d_model))
        self.enc = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.out = nn.Linear(d_model, n_classes)
    def forward(self, input_ids):
        rows = F.pad(input_ids + 1, (1, 0), value=0)
        x = self.E(rows) + self.PE[: rows.size(1)]
        return self.out(self.enc(x, padding_mask(rows, self.pad_id + 1))[:, 0])

def parameter_groups(model, weight_decay):
    one_d = lambda p: len(p.shape) == 1
    ps = [p for p in model.parameters()]
    return [{"params": list(filter(one_d, ps)), "weight_decay": 0.0}, {"params": [p for p in ps if not one_d(p)], "weight_decay": weight_decay}]

def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    xs = min(step / warmup_steps, 1.0) if warmup_steps else 1.0
    c = math.cos(math.pi / 2 * max(step - warmup_steps, 0) / max(total_steps - warmup_steps, 1))
    return lr_max * xs * c * c

def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    n, b = len(labels), 32
    opt = AdamW(parameter_groups(model, weight_decay))
    steps = [(e, s) for e in range(epochs) for s in range(0, n, b)]
    sums = [0.0] * epochs
    model.train()
    for t, (e, s) in enumerate(steps):
        for g in opt.param_groups: g['lr'] = warmup_cosine(t + 1, max(1, len(steps) // 10), len(steps) + 1, lr_max)
        x, y = input_ids[s:s + b], labels[s:s + b]
        lp = F.log_softmax(model(x), -1)
        loss = (1 - label_smoothing) * F.nll_loss(lp, y) - label_smoothing * lp.mean(-1).mean()
        opt.zero_grad(); loss.backward(); opt.step()
        sums[e] += loss.item() * len(y) / n
    return sums
