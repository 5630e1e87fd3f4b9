import torch
from torch import nn

import functional as F          # the file next to this one, NOT torch's

scaled_dot_product_attention = F.scaled_dot_product_attention


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, D // n_heads).transpose(1, 2)


def merge_heads(x):
    B, H, T, d_k = x.shape
    return x.transpose(1, 2).reshape(B, T, H * d_k)


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("d_model % n_heads != 0")
        self.n_heads = n_heads
        self.weights = nn.ParameterList(
            nn.init.xavier_normal_(torch.empty(d_model, d_model)) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(F.linear(x, w), self.n_heads)
                   for x, w in zip((query, key, value), self.weights))
        out, attn = F.scaled_dot_product_attention(q, k, v, mask)
        return F.linear(merge_heads(out), self.weights[3]), attn
