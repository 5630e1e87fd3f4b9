"""Attention over blocks of 16 queries, so that no big score matrix has to be held at once."""
import torch
import torch.nn as nn

CHUNK = 16


def scaled_dot_product_attention(query, key, value, mask=None, chunk=CHUNK):
    d_k = query.size(-1)
    keys = key.transpose(-2, -1) / torch.sqrt(torch.tensor(float(d_k)))
    outs, maps = [], []
    for start in range(0, query.size(-2), chunk):
        scores = query[..., start:start + chunk, :] @ keys
        if mask is not None:
            part = mask if mask.size(-2) == 1 else mask[..., start:start + chunk, :]
            scores = scores.masked_fill(part == 0, float("-inf"))
        w = torch.softmax(scores, dim=-1)
        outs.append(w @ value)
        maps.append(w)
    return torch.cat(outs, dim=-2), torch.cat(maps, dim=-2)


class QKV(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise AssertionError("n_heads must divide d_model")
        self.d_k = d_model // n_heads
        self.heads = nn.ModuleList([nn.Linear(d_model, 3 * self.d_k, bias=False) for _ in range(n_heads)])

    def project(self, x, part):
        rows = slice(part * self.d_k, (part + 1) * self.d_k)
        return torch.stack([x @ head.weight[rows].T for head in self.heads], dim=1)


class MultiHeadAttention(QKV):
    def __init__(self, d_model, n_heads):
        super().__init__(d_model, n_heads)
        self.join = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        y, w = scaled_dot_product_attention(self.project(query, 0), self.project(key, 1), self.project(value, 2), mask)
        return self.join(torch.cat([y[:, h] for h in range(y.size(1))], dim=-1)), w


def sinusoidal_positional_encoding(max_len, d_model):
    # rotate by one step at a time in float64, a recurrence instead of a closed formula
    step = 10000.0 ** (-torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    s, c = torch.zeros_like(step), torch.ones_like(step)
    sin_step, cos_step = step.sin(), step.cos()
    rows = []
    for _ in range(max_len):
        rows.append(torch.stack([s, c], dim=1).flatten())
        s, c = s * cos_step + c * sin_step, c * cos_step - s * sin_step
    return torch.stack(rows).float()


def causal_mask(size):
    return torch.eye(size).cumsum(0).bool()


class PostNorm(nn.Module):
    def __init__(self, d_model, sublayer):
        super().__init__()
        self.sublayer = sublayer
        self.norm = nn.LayerNorm(d_model)

    def forward(self, x, *inputs):
        return self.norm(x + self.sublayer(x, *inputs))


class Attend(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.mha = MultiHeadAttention(d_model, n_heads)

    def forward(self, x, source, mask):
        return self.mha(x, source, source, mask)[0]


class FeedForward(nn.Sequential):
    def __init__(self, d_model, d_ff):
        super().__init__(nn.Linear(d_model, d_ff), nn.ReLU(), nn.Dropout(0.0), nn.Linear(d_ff, d_model))


def visible(padding):
    return None if padding is None else padding.eq(False)[:, None, None, :]


class EncoderBlock(nn.ModuleList):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__([PostNorm(d_model, Attend(d_model, n_heads)), PostNorm(d_model, FeedForward(d_model, d_ff))])

    def forward(self, x, key_padding_mask=None):
        attend, feed = self
        return feed(attend(x, x, visible(key_padding_mask)))


class DecoderBlock(nn.ModuleList):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__([
            PostNorm(d_model, Attend(d_model, n_heads)),
            PostNorm(d_model, Attend(d_model, n_heads)),
            PostNorm(d_model, FeedForward(d_model, d_ff)),
        ])

    def forward(self, x, memory, memory_key_padding_mask=None):
        masked, cross, feed = self
        x = masked(x, x, causal_mask(x.size(1)))
        x = cross(x, memory, visible(memory_key_padding_mask))
        return feed(x)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        self.n = (8 // patch_size) ** 2
        self.embed = nn.Linear(patch_size ** 2, d_model)
        # one embedding table for everything: row 0 is CLS, the rest are the positions
        self.positions = nn.Embedding(self.n + 1, d_model)
        self.block = EncoderBlock(d_model, n_heads, d_ff)
        self.norm_in = nn.LayerNorm(d_model)
        self.head = nn.Linear(d_model, n_classes)

    def forward(self, images):
        b = images.size(0)
        table = self.positions(torch.arange(self.n + 1, device=images.device))
        tiles = torch.stack([
            images[:, i:i + self.p, j:j + self.p].flatten(1)
            for i in range(0, 8, self.p) for j in range(0, 8, self.p)
        ], dim=1)
        x = self.embed(tiles) + table[1:]
        x = torch.cat([table[:1].expand(b, 1, -1), x], dim=1)
        return self.head(self.block(self.norm_in(x))[:, 0])


def mean_aggregate(features, adjacency):
    totals = features.clone()
    counts = torch.ones(features.size(0), 1)
    for i, j in adjacency.nonzero().tolist():
        if i != j:
            totals[i] += features[j]
            counts[i] += 1
    return totals / counts
