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
        self.stack = nn.ModuleList()
        for _ in range(n_layers):
            self.stack.append(EncoderBlock(d_model, n_heads, d_ff, dropout))

    def forward(self, x, key_padding_mask=None):
        for i, block in enumerate(self.stack):
            x = block(x, key_padding_mask=key_padding_mask)
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
    norm_ids = {id(p) for m in model.modules() if isinstance(m, nn.LayerNorm) for p in m.parameters()}
    no_decay = [p for n, p in model.named_parameters() if id(p) in norm_ids or n.split(".")[-1].endswith("bias")]
    taken = {id(p) for p in no_decay}
    decay = [p for p in model.parameters() if id(p) not in taken]
    yield {"params": decay, "weight_decay": weight_decay}
    yield {"params": no_decay, "weight_decay": 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    return (lr_max * (step / warmup_steps) if step < warmup_steps
            else lr_max / 2 * (1 + float(np.cos(np.pi * (step - warmup_steps) / (total_steps - warmup_steps)))))


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    warm = max(1, epochs // 10)
    log = []
    for epoch in range(epochs):
        model.train()
        for g in opt.param_groups:
            g["lr"] = warmup_cosine(epoch, warm, epochs, lr_max)
        loss = F.cross_entropy(model(input_ids), labels, label_smoothing=label_smoothing)
        loss.backward()
        opt.step()
        log.append(loss.item())
    return log


if __name__ == "__main__":
    print(sinusoidal_positional_encoding(10, 8)[:3, :4])
    net = TransformerEncoderClassifier(20, 2)
    toks = torch.randint(1, 20, (16, 6))
    print(train(net, toks, toks[:, 0] % 2)[-1])
