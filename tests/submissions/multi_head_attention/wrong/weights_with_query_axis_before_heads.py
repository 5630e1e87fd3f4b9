import torch
from torch import nn


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


def scaled_dot_product_attention(query, key, value, mask=None):
    logits = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
    if mask is not None:
        logits = logits.masked_fill(mask == 0, float("-inf"))
    weights = logits.softmax(dim=-1)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads must divide d_model")
        self.h, self.d = n_heads, d_model // n_heads
        self.wq, self.wk, self.wv, self.wo = (nn.Linear(d_model, d_model) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        (B, Tq, D), Tk = query.shape, key.shape[1]
        q = self.wq(query).view(B, Tq, self.h, self.d)
        k = self.wk(key).view(B, Tk, self.h, self.d)
        v = self.wv(value).view(B, Tk, self.h, self.d)
        logits = torch.einsum("bqhd,bkhd->bqhk", q, k) / self.d ** 0.5
        if mask is not None:
            mask = mask.expand(B, 1, Tq, Tk).transpose(1, 2)
            logits = logits.masked_fill(mask == 0, float("-inf"))
        weights = logits.softmax(dim=-1)
        out = torch.einsum("bqhk,bkhd->bqhd", weights, v).reshape(B, Tq, D)
        return self.wo(out), weights
