import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, H * d_k)


def scaled_dot_product_attention(q, k, v, mask=None):
    sim = torch.einsum("...id,...jd->...ij", q, k) * q.shape[-1] ** -0.5
    if mask is not None:
        sim = sim.masked_fill(mask == 0, -torch.finfo(sim.dtype).max)
    attn = sim.softmax(dim=-1)
    return torch.einsum("...ij,...jd->...id", attn, k), attn


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads:
            raise ValueError("dim must be divisible by heads")
        self.heads = heads
        self.to_q = nn.Linear(dim, dim, bias=False)
        self.to_k = nn.Linear(dim, dim, bias=False)
        self.to_v = nn.Linear(dim, dim, bias=False)
        self.to_out = nn.Linear(dim, dim, bias=False)

    def forward(self, q, k, v, mask=None):
        q = split_heads(self.to_q(q), self.heads)
        k = split_heads(self.to_k(k), self.heads)
        v = split_heads(self.to_v(v), self.heads)
        out, attn = scaled_dot_product_attention(q, k, v, mask)
        return self.to_out(merge_heads(out)), attn
