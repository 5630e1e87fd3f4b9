import torch
import torch.nn as nn


def split_heads(x, n_heads):
    """A view without any copy."""
    B, T, D = x.shape
    d = D // n_heads
    return torch.as_strided(x, (B, n_heads, T, d), (T * D, d, D, 1), x.storage_offset())


def merge_heads(x):
    B, H, T, d = x.shape
    out = x.new_empty(B, T, H * d)
    for h in range(H):
        out[:, :, h * d:(h + 1) * d] = x[:, h]
    return out


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) * query.size(-1) ** -0.5
    if mask is not None:
        scores = scores + torch.where(mask == 0, -1e9, 0.0)
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.q, self.k, self.v, self.o = [nn.Linear(d_model, d_model, bias=False) for _ in range(4)]

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.q(query).contiguous(), self.n_heads)
        k = split_heads(self.k(key).contiguous(), self.n_heads)
        v = split_heads(self.v(value).contiguous(), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
