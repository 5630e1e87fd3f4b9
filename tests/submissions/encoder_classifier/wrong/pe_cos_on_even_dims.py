import math
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len, d_model):
    """PE[p, 2i] = sin(p / 10000^(2i/D)), PE[p, 2i+1] = cos(same)."""
    p = torch.arange(max_len, dtype=torch.float32)
    dims = torch.arange(d_model)
    exponent = (2 * (dims // 2)).float() / d_model
    rate = 1.0 / (10000.0 ** exponent)
    angle = torch.einsum("p,d->pd", p, rate)
    return torch.where(dims % 2 == 0, torch.cos(angle), torch.sin(angle))


def padding_mask(input_ids, pad_id):
    return ~(input_ids != pad_id)


def layer_norm(x, gain, bias, eps=1e-6):
    mean = x.mean(dim=-1, keepdim=True)
    var = ((x - mean) ** 2).mean(dim=-1, keepdim=True)
    return gain * (x - mean) / torch.sqrt(var + eps) + bias


class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        d_k = d_model // n_heads
        self.d_k = d_k
        self.p = dropout
        bound = d_model ** -0.5
        # (input feature, head, head feature)
        self.w_q = nn.Parameter(torch.empty(d_model, n_heads, d_k).uniform_(-bound, bound))
        self.w_k = nn.Parameter(torch.empty(d_model, n_heads, d_k).uniform_(-bound, bound))
        self.w_v = nn.Parameter(torch.empty(d_model, n_heads, d_k).uniform_(-bound, bound))
        self.w_o = nn.Parameter(torch.empty(n_heads, d_k, d_model).uniform_(-bound, bound))
        self.w_1 = nn.Parameter(torch.empty(d_model, d_ff).uniform_(-bound, bound))
        self.b_1 = nn.Parameter(torch.zeros(d_ff))
        self.w_2 = nn.Parameter(torch.empty(d_ff, d_model).uniform_(-d_ff ** -0.5, d_ff ** -0.5))
        self.b_2 = nn.Parameter(torch.zeros(d_model))
        self.gain_1 = nn.Parameter(torch.ones(d_model))
        self.shift_1 = nn.Parameter(torch.zeros(d_model))
        self.gain_2 = nn.Parameter(torch.ones(d_model))
        self.shift_2 = nn.Parameter(torch.zeros(d_model))

    def forward(self, x, key_padding_mask=None):
        q = torch.einsum("btd,dhk->bhtk", x, self.w_q)
        k = torch.einsum("bsd,dhk->bhsk", x, self.w_k)
        v = torch.einsum("bsd,dhk->bhsk", x, self.w_v)
        scores = torch.einsum("bhtk,bhsk->bhts", q, k) / self.d_k ** 0.5
        if key_padding_mask is not None:
            scores = scores.masked_fill(key_padding_mask[:, None, None, :], -1e9)
        weights = scores.softmax(dim=-1)
        context = torch.einsum("bhts,bhsk->bhtk", weights, v)
        attn = torch.einsum("bhtk,hkd->btd", context, self.w_o)
        attn = F.dropout(attn, self.p, training=self.training)
        x = layer_norm(x + attn, self.gain_1, self.shift_1)
        hidden = torch.relu(x @ self.w_1 + self.b_1)
        ffn = hidden @ self.w_2 + self.b_2
        ffn = F.dropout(ffn, self.p, training=self.training)
        return layer_norm(x + ffn, self.gain_2, self.shift_2)


class TransformerEncoder(nn.Module):
    def __init__(self, n_layers, d_model, n_heads, d_ff, dropout=0.0):
        super().__init__()
        self.n_layers = n_layers
        for i in range(n_layers):
            self.add_module(f"block{i}", EncoderBlock(d_model, n_heads, d_ff, dropout))

    def forward(self, x, key_padding_mask=None):
        for i in range(self.n_layers):
            x = getattr(self, f"block{i}")(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, n_classes, d_model=32, n_heads=4, d_ff=64, n_layers=2,
                 max_len=64, pad_id=0, dropout=0.0):
        super().__init__()
        self.pad_id, self.d_model = pad_id, d_model
        self.table = nn.Parameter(torch.randn(vocab_size, d_model) * 0.5)
        self.cls = nn.Parameter(torch.randn(d_model) * 0.5)
        self.encoder = TransformerEncoder(n_layers, d_model, n_heads, d_ff, dropout)
        self.w_out = nn.Parameter(torch.randn(d_model, n_classes) / d_model ** 0.5)
        self.b_out = nn.Parameter(torch.zeros(n_classes))

    def forward(self, input_ids):
        batch, length = input_ids.shape
        x = self.table[input_ids]
        x = torch.cat([self.cls.view(1, 1, -1).expand(batch, 1, -1), x], dim=1)
        x = x + sinusoidal_positional_encoding(length + 1, self.d_model)
        pad = padding_mask(input_ids, self.pad_id)
        pad = torch.cat([torch.zeros_like(pad[:, :1]), pad], dim=1)
        x = self.encoder(x, pad)
        return x[:, 0] @ self.w_out + self.b_out


def parameter_groups(model, weight_decay):
    matrices = [p for p in model.parameters() if p.dim() > 1]
    vectors = [p for p in model.parameters() if p.dim() <= 1]
    return ({"params": matrices, "weight_decay": weight_decay},
            {"params": vectors, "weight_decay": 0.0})


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    warm = step / warmup_steps
    cosine = 0.5 * (1 + math.cos(math.pi * (step - warmup_steps) / max(1, total_steps - warmup_steps)))
    return lr_max * (warm if step < warmup_steps else cosine)


def smoothed_loss(logits, labels, eps):
    n_classes = logits.size(-1)
    target = torch.full_like(logits, eps / n_classes)
    target.scatter_(1, labels[:, None], 1 - eps + eps / n_classes)
    return -(target * F.log_softmax(logits, dim=-1)).sum(dim=-1).mean()


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1):
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    history = []
    model.train()
    warmup = max(1, round(0.1 * epochs))
    for step in range(epochs):
        for group in optimizer.param_groups:
            group["lr"] = warmup_cosine(step, warmup, epochs, lr_max)
        loss = smoothed_loss(model(input_ids), labels, label_smoothing)
        model.zero_grad()
        loss.backward()
        optimizer.step()
        history.append(float(loss.detach()))
    return history
