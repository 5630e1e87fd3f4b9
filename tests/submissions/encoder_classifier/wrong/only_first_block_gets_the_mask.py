from torch import nn
from torch.nn import functional as F
import torch, math
import numpy as np


def sinusoidal_positional_encoding(max_len, d_model):
    pe = torch.zeros(max_len, d_model)
    position = torch.arange(0, max_len).unsqueeze(1).float()
    div = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
    pe[:, 0::2] = torch.sin(position * div)
    pe[:, 1::2] = torch.cos(position * div)
    return pe


def padding_mask(input_ids, pad_id):
    return input_ids == pad_id


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        assert d_model % n_heads == 0
        self.h = n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model, bias=False) for _ in range(4))
        self.norm1 = nn.LayerNorm(d_model)
        self.norm2 = nn.LayerNorm(d_model)
        self.lin1 = nn.Linear(d_model, d_ff)
        self.lin2 = nn.Linear(d_ff, d_model)
        self.dropout = nn.Dropout(dropout)

    def split(self, t):
        return t.view(t.size(0), t.size(1), self.h, -1).transpose(1, 2)

    def attend(self, x, pad):
        mask = None if pad is None else ~pad.unsqueeze(1).unsqueeze(2)
        y = F.scaled_dot_product_attention(self.split(self.wq(x)), self.split(self.wk(x)), self.split(self.wv(x)), attn_mask=mask)
        return self.wo(y.transpose(1, 2).reshape(x.shape))

    def forward(self, x, key_padding_mask=None):
        x = self.norm1(x + self.dropout(self.attend(x, key_padding_mask)))
        x = self.norm2(x + self.dropout(self.lin2(self.lin1(x).relu())))
        return x


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.tower = nn.ModuleList()
        for _ in range(n_layers):
            self.tower.append(EncoderBlock(d_model, n_heads, d_ff, dropout))

    def forward(self, x, key_padding_mask=None):
        for i, block in enumerate(self.tower):
            x = block(x, key_padding_mask=key_padding_mask if i == 0 else None)
        return x


class TransformerEncoderClassifier(nn.Module):
    """an extra row of the embedding table is [CLS]"""

    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.cls_id = pad_id, vocab_size
        self.tok = nn.Embedding(vocab_size + 1, d_model)
        self.table = nn.Buffer(sinusoidal_positional_encoding(max_len + 1, d_model))
        self.drop = nn.Dropout(dropout)
        self.enc = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.out = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        ids = F.pad(input_ids, (1, 0), value=self.cls_id)
        hidden = self.tok(ids) + self.table[:ids.size(1)].unsqueeze(0)
        hidden = self.enc(self.drop(hidden), padding_mask(ids, self.pad_id))
        return self.out(hidden[:, 0, :])


def parameter_groups(model, weight_decay):
    with_decay, without = [], []
    for module in model.modules():
        for name, p in module.named_parameters(recurse=False):
            if isinstance(module, nn.LayerNorm) or "bias" in name:
                without.append(p)
            else:
                with_decay.append(p)
    return ({"params": with_decay, "weight_decay": weight_decay}, {"params": without, "weight_decay": 0.0})


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    rise = step / max(warmup_steps, 1)
    done = max(0, step - warmup_steps) / max(1, total_steps - warmup_steps)
    fall = math.cos(math.pi / 2 * min(1.0, done)) ** 2
    return float(lr_max * min(rise, fall) if step < warmup_steps else lr_max * fall)


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    data = torch.utils.data.TensorDataset(input_ids, labels)
    loader = torch.utils.data.DataLoader(data, batch_size=32, shuffle=True)
    steps = epochs * len(loader)
    warmup_steps = max(1, int(0.1 * steps))
    optim = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=1.0)
    sched = torch.optim.lr_scheduler.LambdaLR(optim, lambda s: warmup_cosine(min(s, steps), warmup_steps, steps, lr_max))
    means = []
    model.train()
    for _ in range(epochs):
        seen = []
        for xb, yb in loader:
            optim.zero_grad(set_to_none=True)
            loss = F.cross_entropy(model(xb), yb, label_smoothing=label_smoothing)
            loss.backward()
            optim.step()
            sched.step()
            seen.append((float(loss), len(yb)))
        means.append(sum(l * k for l, k in seen) / sum(k for _, k in seen))
    return means


ANSWERS = {"pooling": "A", "key-padding-mask": "Padding tokens", "adamw": "A"}
