"""PyTorch's own layers, subclassed, time-first inside; CLS as a separate nn.Embedding(1, D); nn.Embedding.from_pretrained PE."""
import math, torch
import torch.nn as nn

@torch.jit.script
def sinusoidal_positional_encoding(max_len: int, d_model: int):
    pe = torch.zeros(max_len, d_model)
    pos = torch.arange(max_len, dtype=torch.float64).unsqueeze(1)
    i = torch.arange(0, d_model, 2, dtype=torch.float64)
    ang = pos * torch.pow(torch.tensor(10000.0, dtype=torch.float64), -i / d_model)
    pe[:, 0::2] = torch.sin(ang).float()
    pe[:, 1::2] = torch.cos(ang).float()
    return pe

def padding_mask(input_ids, pad_id):
    return (input_ids - pad_id) == 0

class _Layer(nn.TransformerEncoderLayer):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(d_model, n_heads, dim_feedforward=d_ff, dropout=dropout, activation=nn.functional.relu,
                         batch_first=False, norm_first=False)
    def forward(self, x, key_padding_mask=None, **kw):
        kpm = None if key_padding_mask is None else key_padding_mask.bool()
        return super().forward(x.transpose(0, 1), src_key_padding_mask=kpm).transpose(0, 1)

EncoderBlock = type('EncoderBlock', (_Layer,), {})

class TransformerEncoder(nn.Sequential):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__(*(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)))
    def forward(self, x, key_padding_mask=None):
        for m in self: x = m(x, key_padding_mask)
        return x

class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2, max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.word = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        self.cls = nn.Embedding(1, d_model)
        self.position = nn.Embedding.from_pretrained(sinusoidal_positional_encoding(max_len + 1, d_model), freeze=True)
        self.ln = nn.LayerNorm(d_model)
        self.body = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head = nn.Sequential(nn.Linear(d_model, d_ff), nn.GELU(), nn.Dropout(dropout), nn.Linear(d_ff, n_classes))
        self.pad_id = pad_id

def _forward(self, input_ids):
    if True:
        keep = (~padding_mask(input_ids, self.pad_id)).any(0).nonzero()
        input_ids = input_ids[:, : int(keep.max()) + 1] if len(keep) else input_ids[:, :1]
        b, t = input_ids.size()
        z = torch.zeros(b, 1, dtype=torch.long, device=input_ids.device)
        x = torch.cat([self.cls(z), self.word(input_ids)], dim=1)
        x = self.ln(x + self.position.weight[: t + 1])
        m = nn.functional.pad(padding_mask(input_ids, self.pad_id), (1, 0), value=False)
        return self.head(self.body(x, m)[:, 0, :])

TransformerEncoderClassifier.forward = _forward

def parameter_groups(model, weight_decay):
    groups = []
    for mod in model.modules():
        for n, p in mod.named_parameters(recurse=False):
            if p.requires_grad:
                bare = n.endswith('bias') or isinstance(mod, (nn.LayerNorm, nn.Embedding))
                groups.append({'params': [p], 'weight_decay': 0.0 if bare else weight_decay})
    return groups

def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step <= warmup_steps:
        return lr_max * (step / warmup_steps)
    frac = (total_steps - step) / (total_steps - warmup_steps)
    return lr_max * math.sin(math.pi * frac / 2) ** 2

def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    def crit(z, y):
        t = (1 - label_smoothing) * nn.functional.one_hot(y, z.shape[1]) + label_smoothing / z.shape[1]
        return nn.functional.kl_div(z.log_softmax(1), t, reduction='none').sum(1)
    B = len(labels)
    nb = math.ceil(len(labels) / B); total = nb * epochs; warm = max(1, int(.06 * total))
    losses, s = [], 0
    for _ in range(epochs):
        model.train()
        ls = []
        perm = torch.randperm(len(labels))
        for k in range(0, len(labels), B):
            s += 1
            lr = warmup_cosine(s, warm, total, lr_max)
            for g in opt.param_groups: g.update(lr=lr)
            i = perm[k:k + B]
            l = crit(model(input_ids[i]), labels[i])
            opt.zero_grad(); l.mean().backward(); nn.utils.clip_grad_norm_(model.parameters(), 1.0); opt.step()
            ls.append(l.detach())
        losses.append(torch.cat(ls).mean().item())
    return losses
