from torch import nn
from torch.nn import functional as F
import torch, math
import numpy as np


def sinusoidal_positional_encoding(max_len, d_model):
    t = np.arange(max_len)[:, None]
    c = np.arange(d_model)[None, :]
    table = t / np.power(10000, (2 * (c // 2)) / d_model)
    table[:, 0::2] = np.sin(table[:, 0::2])
    table[:, 1::2] = np.cos(table[:, 1::2])
    return torch.from_numpy(table).float()


def padding_mask(input_ids, pad_id):
    """True where the token is padding"""
    return input_ids.eq(pad_id)


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
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.attention = SelfAttention(d_model, n_heads)
        self.ln1 = nn.LayerNorm(d_model)
        self.ln2 = nn.LayerNorm(d_model)
        self.up = nn.Linear(d_model, d_ff)
        self.down = nn.Linear(d_ff, d_model)
        self.p = dropout

    def drop(self, t):
        return F.dropout(t, self.p, self.training)

    def forward(self, x, key_padding_mask=None):
        x = self.ln1(x + self.drop(self.attention(x, key_padding_mask)))
        return self.ln2(x + self.drop(self.down(F.relu(self.up(x)))))


class TransformerEncoder(nn.ModuleList):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for block in self:
            x = block(x, key_padding_mask)
        return x


class PositionalEncoding(nn.Module):
    def __init__(self, max_len, d_model):
        super().__init__()
        self.register_buffer("pe", sinusoidal_positional_encoding(max_len, d_model), persistent=False)

    def forward(self, x):
        return x + self.pe[:x.size(1), :]


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad = pad_id
        self.scale = math.sqrt(d_model)
        self.embed = nn.Embedding(vocab_size, d_model, padding_idx=pad_id)
        nn.init.normal_(self.embed.weight, std=d_model ** -0.5)
        self.cls_vector = nn.Parameter(torch.empty(d_model).normal_(std=0.1))
        self.positions = PositionalEncoding(max_len + 1, d_model)
        self.stack = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.classify = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh(), nn.Linear(d_model, n_classes))

    def forward(self, input_ids):
        n = input_ids.shape[0]
        tokens = self.embed(input_ids) * self.scale
        seq = torch.hstack([self.cls_vector.repeat(n, 1, 1), tokens])
        seq = self.positions(seq)
        ignore = padding_mask(input_ids, self.pad)
        ignore = F.pad(ignore, (1, 0), value=False)
        states = self.stack(seq, key_padding_mask=ignore)
        return self.classify(states[:, 0])


def parameter_groups(model, weight_decay):
    groups = {True: [], False: []}
    for name, p in model.named_parameters():
        skip = name.endswith("bias") or "norm" in name
        groups[skip].append(p)
    return [dict(params=groups[False], weight_decay=weight_decay),
            dict(params=groups[True], weight_decay=0.0)]


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


if __name__ == "__main__":
    print(sinusoidal_positional_encoding(10, 8)[:3, :4])
    net = TransformerEncoderClassifier(20, 2)
    toks = torch.randint(1, 20, (16, 6))
    print(train(net, toks, toks[:, 0] % 2)[-1])
