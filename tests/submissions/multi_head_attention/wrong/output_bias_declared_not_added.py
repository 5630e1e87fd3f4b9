import torch
import torch.nn as nn
import torch.nn.functional as F


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
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        for name in ("q", "k", "v", "o"):
            weight = nn.init.xavier_uniform_(torch.empty(d_model, d_model))
            self.register_parameter("W" + name, nn.Parameter(weight))
            self.register_parameter("b" + name, nn.Parameter(torch.zeros(d_model)))

    def forward(self, query, key, value, mask=None):
        q = split_heads(F.linear(query, self.Wq, self.bq), self.n_heads)
        k = split_heads(F.linear(key, self.Wk, self.bk), self.n_heads)
        v = split_heads(F.linear(value, self.Wv, self.bv), self.n_heads)
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return F.linear(merge_heads(out), self.Wo), weights
