import torch
import torch.nn as nn


def split_heads(x, n_heads):
    """(B, T, D) -> (B, H, T, d_k)"""
    batch, length, width = x.size()
    heads = x.reshape(batch, length, n_heads, width // n_heads)
    return heads.permute(0, 2, 1, 3).contiguous()


def merge_heads(x):
    """(B, H, T, d_k) -> (B, T, D)"""
    batch, n_heads, length, size = x.size()
    return x.permute(0, 2, 1, 3).contiguous().view(batch, length, n_heads * size)


def scaled_dot_product_attention(query, key, value, mask=None):
    d_k = query.shape[-1]
    logits = torch.einsum("...qd,...kd->...qk", query, key) / d_k ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask.bool().logical_not(), -1e9)
    weights = torch.softmax(logits, dim=-1)
    return torch.einsum("...qk,...kd->...qd", weights, value), weights


class Head(nn.Module):
    def __init__(self, d_k):
        super().__init__()
        self.q, self.k, self.v = (nn.Linear(d_k, d_k, bias=False) for _ in range(3))

    def forward(self, query, key, value, mask):
        return scaled_dot_product_attention(self.q(query), self.k(key), self.v(value), mask)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads")
        self.n_heads = n_heads
        self.heads = nn.ModuleList(Head(d_model // n_heads) for _ in range(n_heads))
        self.out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(t, self.n_heads) for t in (query, key, value))
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)
        res = [head(q[:, i], k[:, i], v[:, i], mask) for i, head in enumerate(self.heads)]
        out = torch.stack([r[0] for r in res], dim=1)
        return self.out(merge_heads(out)), torch.stack([r[1] for r in res], dim=1)
