import torch
import torch.nn as nn

attend = torch._C._nn.scaled_dot_product_attention


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
    m = None if mask is None else mask != 0
    identity = torch.eye(key.size(-2), dtype=key.dtype)
    identity = identity.expand(*key.shape[:-1], key.size(-2))
    weights = attend(query, key, identity, attn_mask=m)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.lin_q = nn.Linear(d_model, d_model, bias=False)
        self.lin_k = nn.Linear(d_model, d_model, bias=False)
        self.lin_v = nn.Linear(d_model, d_model, bias=False)
        self.lin_out = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        projected = (self.lin_q(query), self.lin_k(key), self.lin_v(value))
        q, k, v = [split_heads(p, self.n_heads) for p in projected]
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.lin_out(merge_heads(out)), weights
