from __future__ import annotations
import math, itertools
import torch
import torch.nn as nn
import torch.nn.functional as F


def sinusoidal_positional_encoding(max_len: int, d_model: int, base: float = 1e4) -> torch.Tensor:
    """sin and cos are the imaginary and the real part of exp(i·angle)"""
    freq = base ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    angle = torch.outer(torch.arange(max_len, dtype=torch.float64), freq)
    z = torch.polar(torch.ones_like(angle), angle)
    return torch.view_as_real(z).flip(-1).flatten(1).float()


def padding_mask(tokens: torch.Tensor, pad_id: int) -> torch.BoolTensor:
    return tokens.eq(pad_id)


class EncoderBlock(nn.Module):
    def __init__(self, embed_dim, num_heads, ff_dim, dropout=0.1, bias: bool = True):
        super().__init__()
        if embed_dim % num_heads:
            raise ValueError("heads")
        self.num_heads = num_heads
        self.dropout = dropout
        self.linears = nn.ModuleDict({
            "kqv": nn.Linear(embed_dim, 3 * embed_dim, bias=bias),
            "out": nn.Linear(embed_dim, embed_dim, bias=bias),
            "up": nn.Linear(embed_dim, ff_dim),
            "down": nn.Linear(ff_dim, embed_dim),
        })
        self.norms = nn.ModuleDict({s: nn.LayerNorm(embed_dim) for s in ("ffn", "attn")})

    def _attend(self, x, ignore):
        k, q, v = (t.unflatten(-1, (self.num_heads, -1)).transpose(1, 2)
                   for t in self.linears["kqv"](x).chunk(3, dim=-1))
        allowed = None if ignore is None else ignore.logical_not()[:, None, None, :]
        y = F.scaled_dot_product_attention(q, k, v, allowed, self.dropout if self.training else 0.0)
        return self.linears["out"](y.transpose(1, 2).flatten(2))

    def forward(self, x, key_padding_mask=None):
        drop = lambda t: F.dropout(t, self.dropout, self.training)
        x = self.norms["attn"](x + drop(self._attend(x, key_padding_mask)))
        ff = self.linears["down"](drop(torch.relu(self.linears["up"](x))))
        return self.norms["ffn"](x + drop(ff))


class TransformerEncoder(nn.Module):
    def __init__(self, depth, embed_dim, num_heads, ff_dim, dropout=0.1):
        super().__init__()
        self.depth = depth
        for i in range(depth):
            setattr(self, f"block{i}", EncoderBlock(embed_dim, num_heads, ff_dim, dropout))

    def forward(self, x, key_padding_mask=None):
        for i in range(self.depth):
            x = getattr(self, f"block{i}")(x, key_padding_mask)
        return x


class TransformerEncoderClassifier(nn.Module):
    def __init__(self, vocab_size, num_classes, embed_dim=32, num_heads=4, ff_dim=64, depth=2,
                 max_len=64, pad_idx=0, dropout=0.0, *, pre_norm_embeddings=True):
        super().__init__()
        self.pad_idx = pad_idx
        self.token = nn.Embedding(vocab_size, embed_dim)
        self.cls = nn.Embedding(1, embed_dim)
        self.emb_norm = nn.LayerNorm(embed_dim) if pre_norm_embeddings else nn.Identity()
        self.register_buffer("sin_cos", sinusoidal_positional_encoding(max_len + 1, embed_dim))
        self.body = TransformerEncoder(depth, embed_dim, num_heads, ff_dim, dropout)
        self.out = nn.Linear(embed_dim, num_classes)

    def forward(self, tokens):
        b, t = tokens.shape
        x = torch.cat([self.cls.weight.expand(b, 1, -1), self.token(tokens)], dim=1)
        x = self.emb_norm(x + self.sin_cos[: t + 1])
        ignore = torch.zeros(b, t + 1, dtype=torch.bool, device=tokens.device)
        ignore[:, 1:] = padding_mask(tokens, self.pad_idx)
        return self.out(self.body(x, ignore).select(1, 0))


def parameter_groups(model, weight_decay):
    # one group for each parameter
    return [dict(params=[p], weight_decay=weight_decay * (p.dim() > 1), name=n)
            for n, p in model.named_parameters() if p.requires_grad]


def warmup_cosine(step, warmup_steps, total_steps, lr_max):
    up = step / warmup_steps if warmup_steps else 1.0
    down = 0.5 + 0.5 * math.cos(math.pi * max(0, step - warmup_steps) / max(1, total_steps - warmup_steps))
    return lr_max * min(up, 1.0) * down


def train(model, input_ids, labels, epochs=50, lr_max=1e-3, weight_decay=0.01, label_smoothing=0.1, *,
          batch_size=32, seed=1):
    loader = torch.utils.data.DataLoader(
        torch.utils.data.TensorDataset(input_ids, labels), batch_size, shuffle=True,
        generator=torch.Generator().manual_seed(seed))
    total = epochs * len(loader)
    warm = min(max(1, round(0.06 * total)), total)
    optimizer = torch.optim.AdamW(parameter_groups(model, weight_decay), lr=lr_max)
    step, means = itertools.count(), []
    for _ in range(epochs):
        model.train()
        weighted = []
        for x, y in loader:
            s = next(step)
            for group in optimizer.param_groups:
                group["lr"] = warmup_cosine(s, warm, total, lr_max)
            loss = F.cross_entropy(model(x), y, label_smoothing=label_smoothing)
            model.zero_grad()
            loss.backward()
            optimizer.step()
            weighted.append((loss.item(), len(y)))
        means.append(sum(l * n for l, n in weighted) / sum(n for _, n in weighted))
    model.eval()
    return means
