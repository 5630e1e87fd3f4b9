"""No torch layers at all: raw parameters, own LayerNorm, own softmax, own smoothed loss."""
import math
import torch
from torch.nn import Module, Parameter, ModuleList


def sinusoidal_positional_encoding(max_len, d_model):
    rows = []
    for pos in range(max_len):
        row = []
        for i in range(d_model // 2):
            angle = pos / 10000 ** (2 * i / d_model)
            row += [math.sin(angle), math.cos(angle)]
        rows.append(row)
    return torch.tensor(rows)


def padding_mask(input_ids, pad_id):
    return ~(input_ids != pad_id)


def normal(*shape, fan):
    return Parameter(torch.randn(*shape) * fan ** -0.5)


class Norm(Module):
    def __init__(self, dim, eps=1e-6):
        super().__init__()
        self.gamma = Parameter(torch.ones(1, 1, dim))
        self.beta = Parameter(torch.zeros(1, 1, dim))
        self.eps = eps

    def forward(self, x):
        mu = x.mean(-1, keepdim=True)
        var = ((x - mu) ** 2).mean(-1, keepdim=True)
        return (x - mu) / torch.sqrt(var + self.eps) * self.gamma + self.beta


class EncoderBlock(Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        assert d_model % n_heads == 0
        self.h, self.p = n_heads, dropout
        self.wqkv = normal(d_model, 3 * d_model, fan=d_model)
        self.wo = normal(d_model, d_model, fan=d_model)
        self.w1, self.b1 = normal(d_model, d_ff, fan=d_model), Parameter(torch.zeros(1, d_ff))
        self.w2, self.b2 = normal(d_ff, d_model, fan=d_ff), Parameter(torch.zeros(1, d_model))
        self.after_attention, self.after_ffn = Norm(d_model), Norm(d_model)

    def drop(self, x):
        if not self.training or self.p == 0:
            return x
        return x * (torch.rand_like(x) >= self.p) / (1 - self.p)

    def attention(self, x, key_padding_mask):
        B, T, D = x.shape
        q, k, v = (x @ self.wqkv).view(B, T, 3, self.h, D // self.h).permute(2, 0, 3, 1, 4)
        s = q @ k.transpose(2, 3) / math.sqrt(D // self.h)
        if key_padding_mask is not None:
            s = s - 1e9 * key_padding_mask[:, None, None].to(s.dtype)
        e = torch.exp(s - s.amax(-1, keepdim=True))
        return ((e / e.sum(-1, keepdim=True)) @ v).transpose(1, 2).reshape(B, T, D) @ self.wo

    def forward(self, x, key_padding_mask=None):
        y = self.after_attention(x + self.drop(self.attention(x, key_padding_mask)))
        hidden = (y @ self.w1 + self.b1).clamp(min=0)
        return self.after_ffn(y + self.drop(hidden @ self.w2 + self.b2))


class TransformerEncoder(Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.blocks = ModuleList(EncoderBlock(d_model, n_heads, d_ff, dropout) for _ in range(n_layers))

    def forward(self, x, key_padding_mask=None):
        for b in self.blocks:
            x = b(x, key_padding_mask=key_padding_mask)
        return x


class TransformerEncoderClassifier(Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id = pad_id
        self.tokens = Parameter(torch.randn(vocab_size, d_model))
        self.cls = Parameter(torch.randn(d_model))
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.head_w, self.head_b = normal(d_model, n_classes, fan=d_model), Parameter(torch.zeros(1, n_classes))
        self.positions = sinusoidal_positional_encoding(max_len, d_model)     # plain attribute, not a buffer

    def forward(self, input_ids):
        B, T = input_ids.shape
        # the CLS vector has no position, the words are at 0 .. T-1
        x = self.tokens[input_ids] + self.positions[:T]
        x = torch.cat((self.cls.repeat(B, 1, 1), x), 1)
        m = padding_mask(input_ids, self.pad_id)
        m = torch.cat((torch.zeros_like(m[:, :1]) if T else m.new_zeros(B, 1), m), 1)
        return self.encoder(x, m)[:, 0] @ self.head_w + self.head_b


def parameter_groups(model, weight_decay):
    """a generator; biases have shape (1, n) here, so ndim does not help: go by name"""
    plain = ("gamma", "beta", "b1", "b2", "head_b", "bias", "cls")
    named = list(model.named_parameters())
    yield {"params": [p for n, p in named if n.split(".")[-1] not in plain], "weight_decay": weight_decay}
    yield {"params": [p for n, p in named if n.split(".")[-1] in plain], "weight_decay": 0.0}


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    if step <= warmup_steps and warmup_steps > 0:
        return lr_max * step / warmup_steps
    t = (step - warmup_steps) / (total_steps - warmup_steps)
    return lr_max * math.cos(t * math.pi / 2) ** 2          # = (1 + cos(pi t)) / 2


def smoothed(logits, y, eps):
    logp = logits - logits.logsumexp(-1, keepdim=True)
    target = torch.full_like(logp, eps / logits.shape[-1])
    target[torch.arange(len(y)), y] += 1 - eps
    return -(target * logp).sum(-1).mean()


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    opt = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=0.0)
    out = []
    model.train(True)
    for e in range(epochs):
        lr = warmup_cosine(e + 1, min(4, epochs), epochs + 1, lr_max)
        for g in opt.param_groups:
            g.update(lr=lr)
        loss = smoothed(model(input_ids), labels, label_smoothing)
        grads = torch.autograd.grad(loss, list(model.parameters()))
        for p, g in zip(model.parameters(), grads):
            p.grad = g
        opt.step()
        out.append(float(loss.detach()))
    return out


if __name__ == "__main__":
    m = TransformerEncoderClassifier(12, 3)
    x = torch.randint(1, 12, (64, 6))
    print(train(m, x, x[:, 0] % 3, lr_max=5e-3)[::7])
