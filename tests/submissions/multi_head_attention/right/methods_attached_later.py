import torch
import torch.nn as nn
import torch.nn.functional as F


class MultiHeadAttention(nn.Module):
    """Filled in below, one milestone after the other."""


# ---- milestone 1
def _init(self, d_model, n_heads):
    nn.Module.__init__(self)
    if d_model % n_heads != 0:
        raise ValueError("heads must divide the model's width")
    self.n_heads = n_heads
    for name in ["W_q", "W_k", "W_v", "W_o"]:
        self.add_module(name, nn.Linear(d_model, d_model, bias=False))


MultiHeadAttention.__init__ = _init


# ---- milestone 2
def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


# ---- milestone 3
def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == False, float("-inf"))   # noqa: E712
    weights = F.softmax(scores, dim=-1)
    return weights @ value, weights


# ---- milestone 4
def _forward(self, query, key, value, mask=None):
    q = split_heads(self.W_q(query), self.n_heads)
    k = split_heads(self.W_k(key), self.n_heads)
    v = split_heads(self.W_v(value), self.n_heads)
    out, weights = scaled_dot_product_attention(q, k, v, mask)
    return self.W_o(merge_heads(out)), weights


setattr(MultiHeadAttention, "forward", _forward)
