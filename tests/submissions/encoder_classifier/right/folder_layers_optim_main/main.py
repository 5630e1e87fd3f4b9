import torch
from torch import nn
import layers
from schedule import warmup_cosine, set_lr


class EncoderBlock(layers.EncoderBlock):
    def forward(self, x, key_padding_mask=None):
        a, _ = self.attention(x, x, x, key_padding_mask=key_padding_mask, need_weights=True)
        x = self.n1(x.add(a))
        return self.n2(x.add(self.net(x)))


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.modules_ = nn.ModuleList([EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers)])

    def forward(self, x, key_padding_mask=None):
        for m in self.modules_:
            x = m(x, key_padding_mask=key_padding_mask)
        return x


class PositionalEncoding(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.d_model = d_model

    def forward(self, n):
        pe = torch.zeros(n, self.d_model)
        p = torch.arange(n).float().unsqueeze(1)
        den = 10000 ** (torch.arange(0, self.d_model, 2).float() / self.d_model)
        pe[:, 0::2] = torch.sin(p / den)
        pe[:, 1::2] = torch.cos(p / den)
        return pe


def sinusoidal_positional_encoding(max_len, d_model):
    return PositionalEncoding(d_model)(max_len)


def padding_mask(input_ids, pad_id):
    return torch.logical_not(input_ids - pad_id)


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2, max_len=64, pad_id=0,
                 dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.emb = nn.EmbeddingBag(vocab_size, d_model, mode="sum")      # bags of one word
        self.cls = nn.Parameter(torch.rand(d_model) - 0.5)
        self.pe = PositionalEncoding(d_model)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.classify = nn.Linear(d_model, n_classes)

    def forward(self, input_ids):
        b, t = input_ids.shape
        words = self.emb(input_ids.reshape(-1, 1)).view(b, t, -1)
        x = torch.column_stack((self.cls.expand(b, 1, -1), words)) + self.pe(t + 1)
        mask = torch.column_stack((torch.zeros(b, 1, dtype=torch.bool), padding_mask(input_ids, self.pad_id)))
        return self.classify(self.encoder(x, mask)[:, 0])


def parameter_groups(model, weight_decay):
    out = {}
    for n, p in model.named_parameters():
        wd = 0.0 if p.ndim <= 1 else weight_decay
        out.setdefault(p.ndim <= 1, {"params": [], "weight_decay": wd})["params"].append(p)
    return out.values()


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(list(parameter_groups(model, weight_decay)), lr=lr_max)
    loss_of = nn.CrossEntropyLoss(label_smoothing=label_smoothing)
    k = 3 if len(labels) >= 6 else 1
    history, step, total = [], 0, epochs * k
    for _ in range(epochs):
        model.train()
        order = torch.randperm(len(labels))
        s = 0.0
        for part in order.tensor_split(k):
            set_lr(opt, warmup_cosine(step, min(6, max(1, total - 1)), total + 1, lr_max))
            opt.zero_grad()
            loss = loss_of(model(input_ids[part]), labels[part])
            loss.backward()
            opt.step()
            step += 1
            s += loss.item() * len(part)
        history.append(s / len(labels))
    return history
