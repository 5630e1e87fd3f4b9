"""Fused projection whose rows cycle q,k,v feature by feature; attention computed one query at a time."""
import torch, torch.nn as nn, torch.nn.functional as F

def scaled_dot_product_attention(query, key, value, mask=None, **kwargs):
    d_k = key.shape[-1]
    rows = []
    if mask is not None:
        mask = torch.atleast_2d(mask).bool()
    for t in range(query.shape[-2]):
        row = (key @ query[..., t, :, None]).squeeze(-1) / d_k ** 0.5
        if mask is not None:
            row = row.masked_fill(~mask[..., min(t, mask.shape[-2] - 1), :], float("-inf"))
        rows.append(F.softmax(row, dim=-1))
    weights = torch.stack(rows, dim=-2)
    return (weights @ value, weights)

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads, **options):
        super().__init__()
        assert d_model % n_heads == 0, (d_model, n_heads)
        self.h = n_heads
        self.fused = nn.Linear(d_model, 3 * d_model, bias=options.get("bias", False))
        self.final = nn.Linear(d_model, d_model, bias=options.get("bias", False))
    def forward(self, query, key, value, mask=None):
        q, k, v = (self.fused(x)[..., i::3].unflatten(-1, (self.h, -1)).transpose(-3, -2) for i, x in enumerate((query, key, value)))
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return self.final(y.transpose(-3, -2).flatten(-2)), w

def sinusoidal_positional_encoding(max_len, d_model):
    freqs = torch.tensor(10000.0, dtype=torch.float64).pow(-torch.arange(0, d_model, 2).double() / d_model)
    ang = torch.cartesian_prod(torch.arange(max_len).double(), freqs).prod(-1)
    return torch.stack([ang.sin(), ang.cos()], -1).reshape(max_len, d_model).float()

def causal_mask(size):
    mask = torch.zeros(size, size, dtype=torch.bool)
    for i in range(size):
        mask[i, : i + 1] = True
    return mask

class Norms(nn.Module):
    """all the gains of a block in one parameter, all the shifts in another"""
    def __init__(self, n, d):
        super().__init__()
        self.gain, self.shift = nn.Parameter(torch.ones(n, d)), nn.Parameter(torch.zeros(n, d))
    def __call__(self, i, x):
        return F.layer_norm(x, x.shape[-1:], self.gain[i], self.shift[i])

class EncoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mix, self.norms = MultiHeadAttention(d_model, n_heads), Norms(2, d_model)
        self.wide, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x, key_padding_mask=None):
        may = None if key_padding_mask is None else (key_padding_mask == 0)[:, None, None]
        h = self.norms(0, x + self.mix(x, x, x, may)[0])
        return self.norms(1, h + self.narrow(F.relu(self.wide(h))))

class DecoderBlock(nn.Module):
    def __init__(self, d_model, n_heads, d_ff):
        super().__init__()
        self.mixes, self.norms = nn.ModuleList([MultiHeadAttention(d_model, n_heads) for _ in range(2)]), Norms(3, d_model)
        self.wide, self.narrow = nn.Linear(d_model, d_ff), nn.Linear(d_ff, d_model)
    def forward(self, x, memory, memory_key_padding_mask=None):
        may = None if memory_key_padding_mask is None else (memory_key_padding_mask == 0)[:, None, None]
        plan = [lambda h: self.mixes[0](h, h, h, causal_mask(h.shape[1]))[0],
                lambda h: self.mixes[1](h, memory, memory, may)[0],
                lambda h: self.narrow(F.relu(self.wide(h)))]
        for i, step in enumerate(plan):
            x = self.norms(i, x + step(x))
        return x

class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.p = patch_size
        self.filters = nn.Parameter(torch.randn(d_model, 1, patch_size, patch_size) / patch_size)
        self.start = nn.Parameter(torch.randn(d_model))
        self.place = nn.Embedding(1 + (8 // patch_size) ** 2, d_model)
        self.block, self.name_it = EncoderBlock(d_model, n_heads, d_ff), nn.Linear(d_model, n_classes)
    def forward(self, images):
        x = F.conv2d(images[:, None], self.filters, stride=self.p).flatten(2).mT
        x = torch.cat([self.start.expand(x.shape[0], 1, -1), x], 1)
        x = x + self.place(torch.arange(x.shape[1]))
        return self.name_it(self.block(x)[:, 0])

def mean_aggregate(features, adjacency):
    out = features.clone(); n = torch.ones(len(features), 1)
    for i in range(len(features)):
        for j in range(len(features)):
            if i != j and adjacency[i, j]:
                out[i] += features[j]; n[i] += 1
    return out / n
