import torch
import torch.nn as nn


def split_heads(x, n_heads):
    # d_k features for each head
    d_k = x.shape[-1] // n_heads
    heads = [x[:, :, i * d_k:(i + 1) * d_k] for i in range(n_heads)]
    return torch.stack(heads, 1)


def merge_heads(x):
    heads = [x[:, i] for i in range(x.shape[1])]
    return torch.cat(heads, 2)


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
        self.d_k = d_model / n_heads
        self.Wq = nn.Linear(d_model, d_model, bias=False)
        self.Wk = nn.Linear(d_model, d_model, bias=False)
        self.Wv = nn.Linear(d_model, d_model, bias=False)
        self.Wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        B = query.size(0)
        Q = self.Wq(query).view(B, -1, self.n_heads, self.d_k).transpose(1, 2)
        K = self.Wk(key).view(B, -1, self.n_heads, self.d_k).transpose(1, 2)
        V = self.Wv(value).view(B, -1, self.n_heads, self.d_k).transpose(1, 2)
        out, weights = scaled_dot_product_attention(Q, K, V, mask)
        return self.Wo(merge_heads(out)), weights
