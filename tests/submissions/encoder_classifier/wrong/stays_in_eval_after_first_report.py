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
    norm_ids = {id(p) for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    no_decay = [p for n, p in model.named_parameters() if id(p) in norm_ids or n.split(".")[-1].endswith("bias")]
    taken = {id(p) for p in no_decay}
    decay = [p for p in model.parameters() if id(p) not in taken]
    yield {"params": decay, "weight_decay": weight_decay}
    yield {"params": no_decay, "weight_decay": 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    return (lr_max * (step / warmup_steps) if step < warmup_steps
            else lr_max / 2 * (1 + float(np.cos(np.pi * (step - warmup_steps) / (total_steps - warmup_steps)))))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01,
          label_smoothing=0.1, batch_size=8):
    criterion = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    n = len(labels)
    n_batches = math.ceil(n / batch_size)
    total = epochs * n_batches
    warmup = max(1, total // 10)
    history, step = [], 0
    best = 0.0
    model.train()
    for epoch in range(epochs):
        order = torch.randperm(n)
        running = 0.0
        for i in range(n_batches):
            idx = order[i * batch_size:(i + 1) * batch_size]
            lr = warmup_cosine(step, warmup, total, lr_max)
            for group in optimizer.param_groups:
                group["lr"] = lr
            loss = criterion(model(input_ids[idx]), labels[idx])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            step += 1
            running += loss.item() * len(idx)
        history.append(running / n)
        model.eval()
        with torch.no_grad():
            best = max(best, (model(input_ids).argmax(-1) == labels).float().mean().item())
    return history


if __name__ == "__main__":
    print(sinusoidal_positional_encoding(10, 8)[:3, :4])
    net = TransformerEncoderClassifier(20, 2)
    toks = torch.randint(1, 20, (16, 6))
    print(train(net, toks, toks[:, 0] % 2)[-1])
