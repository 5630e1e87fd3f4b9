import math
import torch
import torch.nn as nn


def scaled_dot_product_attention(query, key, value, mask=None, *, scale=None):
    scale = 1 / math.sqrt(query.shape[-1]) if scale is None else scale
    if query.dim() == 4 and mask is None:
        b, h, t, d = query.shape
        scores = torch.bmm(query.reshape(b * h, t, d), key.reshape(b * h, -1, d).transpose(1, 2)).view(b, h, t, -1)
    else:
        scores = query @ key.transpose(-2, -1)
    scores = scores * scale
    if mask is not None:
        floor = torch.finfo(scores.dtype).min
        scores = torch.where(mask.expand_as(scores).bool(), scores, torch.full_like(scores, floor))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads has to divide d_model")
        self.n_heads = n_heads
        # biases on queries and keys only
        self.query = nn.Linear(d_model, d_model)
        self.key = nn.Linear(d_model, d_model)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = self.query(query), self.key(key), self.value(value)
        n = self.n_heads
        q, k, v = (torch.swapaxes(t.view(t.shape[0], t.shape[1], n, t.shape[2] // n), 1, 2) for t in (q, k, v))
        context, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.output(torch.swapaxes(context, 1, 2).reshape(query.shape[0], query.shape[1], -1)), weights


def causal_mask(size):
    return torch.nn.functional.pad(torch.ones(size, size), (0, 0)).tril().gt(0)


def sinusoidal_positional_encoding(max_len, d_model):
    freqs = torch.exp(-math.log(10000.0) * torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    grid = torch.arange(max_len, dtype=torch.float64).view(-1, 1) * freqs.view(1, -1)
    return torch.hstack([torch.sin(grid), torch.cos(grid)]).view(max_len, 2, -1).transpose(1, 2).reshape(max_len, d_model).float()


def make_block(name, sublayers):
    """sublayers: functions (self, x, context) -> update, in order; each gets Add & Norm."""

    def __init__(self, d_model, n_heads, d_ff):
        super(cls, self).__init__()
        self.final = nn.Sequential(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Linear(d_ff, d_model))
        for i in range(len(sublayers)):
            setattr(self, f"attention_{i}", MultiHeadAttention(d_model, n_heads))
        self.norms = nn.ModuleList([nn.LayerNorm(d_model) for _ in range(len(sublayers) + 1)])

    def run(self, x, context):
        start = x
        for i, sublayer in enumerate(sublayers):
            x = self.norms[i](start + sublayer(getattr(self, f"attention_{i}"), x, context)[0])
        return self.norms[-1](x + self.final(x))

    if len(sublayers) == 1:
        def forward(self, x, key_padding_mask=None):
            return run(self, x, (x, key_padding_mask))
    else:
        def forward(self, x, memory, memory_key_padding_mask=None):
            return run(self, x, (memory, memory_key_padding_mask))

    cls = type(name, (nn.Module,), {"__init__": __init__, "forward": forward, "__module__": __name__})
    return cls


def see_everything(attention, x, context):
    source, padding = context
    source = x if source.data_ptr() == x.data_ptr() else source
    return attention(x, source, source, None if padding is None else ~padding[:, None, None, :])


def see_the_past(attention, x, context):
    return attention(x, x, x, causal_mask(x.shape[1]))


EncoderBlock = make_block("EncoderBlock", [see_everything])
DecoderBlock = make_block("DecoderBlock", [see_the_past, see_everything])


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        side = 8 // patch_size
        self.stem = nn.Sequential(
            nn.Unflatten(1, (side, patch_size)), nn.Unflatten(3, (side, patch_size)),
        )
        self.embed = nn.Linear(patch_size ** 2, d_model)
        self.cls = nn.Parameter(torch.randn(d_model) * 0.02)
        self.pos = nn.Parameter(torch.randn(side * side + 1, d_model) * 0.02)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        x = self.embed(self.stem(images).permute(0, 1, 3, 2, 4).flatten(3).flatten(1, 2))
        x = torch.cat([self.cls[None, None].expand(len(x), -1, -1), x], dim=1) + self.pos
        return self.head(self.encoder(x)[:, 0])


def mean_aggregate(features, adjacency):
    n = features.shape[0]
    rows = [torch.cat([features[i:i + 1], features[(adjacency[i] != 0) & (torch.arange(n) != i)]]) for i in range(n)]
    return torch.cat([r.mean(0, keepdim=True) for r in rows])
