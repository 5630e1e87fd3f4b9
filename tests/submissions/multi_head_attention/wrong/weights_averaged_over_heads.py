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
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.in_q = nn.Linear(d_model, d_model)
        self.in_k = nn.Linear(d_model, d_model)
        self.in_v = nn.Linear(d_model, d_model)
        self.out = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.in_q(query), self.n_heads)
        k = split_heads(self.in_k(key), self.n_heads)
        v = split_heads(self.in_v(value), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.out(merge_heads(out)), weights.mean(dim=1)
