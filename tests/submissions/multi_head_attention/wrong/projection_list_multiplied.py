import torch
import torch.nn as nn


def split_heads(x, n_heads):
    bsz, seq, dim = x.shape
    return torch.einsum("bthd->bhtd", x.reshape(bsz, seq, n_heads, dim // n_heads))


def merge_heads(x):
    bsz, h, seq, d = x.shape
    return torch.einsum("bhtd->bthd", x).reshape(bsz, seq, h * d)


def scaled_dot_product_attention(q, k, v, mask=None):
    sim = torch.matmul(q * q.size(-1) ** -0.5, k.transpose(-1, -2))
    if mask is not None:
        blocked = torch.logical_not(mask)
        sim = sim.masked_fill(blocked, torch.finfo(sim.dtype).min)
    attn = nn.functional.softmax(sim, dim=-1)
    out = torch.matmul(attn, v)
    return out, attn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.layers = nn.ModuleList([nn.Linear(d_model, d_model, bias=False)] * 4)

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(layer(x), self.n_heads)
                   for layer, x in zip(self.layers[:3], (query, key, value))]
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.layers[3](merge_heads(out)), weights
