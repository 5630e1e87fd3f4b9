# encoder classifier with nn.MultiheadAttention
import math
import torch
from torch import nn

def sinusoidal_positional_encoding(max_len, d_model):
    P = torch.zeros(max_len, d_model)
    for pos in range(max_len):
        for i in range(d_model // 2):
            angle = pos / (10000 ** (2 * i / d_model))
            P[pos, 2 * i] = math.sin(angle)
            P[pos, 2 * i + 1] = math.cos(angle)
    return P

def padding_mask(input_ids, pad_id):
    mask = torch.zeros_like(input_ids, dtype=torch.bool)
    mask[input_ids == pad_id] = True
    return mask

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.mha = nn.MultiheadAttention(d_model, 1, dropout=dropout, batch_first=True)
        self.ff = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        self.norm_a = nn.LayerNorm(d_model)
        self.norm_b = nn.LayerNorm(d_model)
        self.drop_a = nn.Dropout(dropout)
        self.drop_b = nn.Dropout(dropout)

    def forward(self, x, key_padding_mask=None):
        a, _ = self.mha(x, x, x, key_padding_mask=key_padding_mask, need_weights=False)
        h = self.norm_a(x + self.drop_a(a))
        f = self.ff(h)
        return self.norm_b(h + self.drop_b(f))

class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.stack = nn.ModuleList()
        for _ in range(n_layers):
            self.stack.append(EncoderBlock(d_model, n_heads, d_ff, dropout))

    def forward(self, x, key_padding_mask=None):
        h = x
        for block in self.stack:
            h = block(h, key_padding_mask=key_padding_mask)
        return h

class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.d_model = d_model
        self.emb = nn.Embedding(vocab_size, d_model)
        self.cls_emb = nn.Embedding(1, d_model)
        self.drop = nn.Dropout(dropout)
        self.register_buffer('pos_table', sinusoidal_positional_encoding(max_len, d_model).unsqueeze(0))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.out = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        n, length = input_ids.shape
        tok = self.emb(input_ids) * math.sqrt(self.d_model)
        cls_ids = torch.zeros(n, 1, dtype=torch.long, device=input_ids.device)
        seq = torch.cat([self.cls_emb(cls_ids), tok], dim=1)
        seq = self.drop(seq + self.pos_table[:, :length + 1])
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([pad.new_zeros(n, 1), pad], dim=1)
        enc = self.encoder(seq, pad)
        cls_state = enc[:, 0]
        return self.out(cls_state)

def parameter_groups(model, weight_decay):
    no_decay = set()
    for m in model.modules():
        if isinstance(m, (nn.LayerNorm, nn.Embedding)):
            no_decay.update(id(p) for p in m.parameters(recurse=False))
    for name, p in model.named_parameters():
        if 'bias' in name:
            no_decay.add(id(p))
    with_wd = [p for p in model.parameters() if id(p) not in no_decay]
    without_wd = [p for p in model.parameters() if id(p) in no_decay]
    return [
        {'params': with_wd, 'weight_decay': weight_decay},
        {'params': without_wd, 'weight_decay': 0.0},
    ]

def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step <= warmup_steps:
        return lr_max * step / warmup_steps
    frac = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * (1 + math.cos(math.pi * frac)) / 2

def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    n = len(input_ids)
    batch = 12
    steps_per_epoch = math.ceil(n / batch)
    total_steps = epochs * steps_per_epoch
    warmup_steps = min(10, max(1, total_steps // 5))
    step = 0
    losses = []
    for epoch in range(epochs):
        model.train()
        order = torch.randperm(n)
        epoch_loss = 0.0
        for start in range(0, n, batch):
            idx = order[start:start + batch]
            for g in opt.param_groups:
                g['lr'] = warmup_cosine(step, warmup_steps, total_steps, lr_max)
            logits = model(input_ids[idx])
            loss = criterion(logits, labels[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            step += 1
            epoch_loss += loss.item()
        losses.append(epoch_loss / steps_per_epoch)
    return losses
