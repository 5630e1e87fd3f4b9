import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    batch, length, width = x.size()
    heads = x.reshape(batch, length, n_heads, width // n_heads)
    return heads.permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D)"""
    batch, n_heads, length, size = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, n_heads * size)


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
        self.d_k = d_model // n_heads
        self.q_proj = nn.Linear(d_model, d_model)
        self.k_proj = nn.Linear(d_model, d_model)
        self.v_proj = nn.Linear(d_model, d_model)
        self.out_proj = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        B, T, D = query.shape
        Q = self.q_proj(query).view(B, T, self.n_heads, self.d_k).transpose(1, 2)
        K = self.k_proj(key).view(B, T, self.n_heads, self.d_k).transpose(1, 2)
        V = self.v_proj(value).view(B, T, self.n_heads, self.d_k).transpose(1, 2)
        out, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.out_proj(out.transpose(1, 2).reshape(B, T, D)), weights
