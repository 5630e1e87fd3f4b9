import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    b, t, d = x.shape
    assert d % n_heads == 0
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 2)


def merge_heads(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    dim = value.shape[-1]
    att = torch.matmul(query, key.transpose(-2, -1)) / (dim ** 0.5)
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return torch.matmul(att, value), att


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads != 0")
        self.n_heads = n_heads
        self.w_q = nn.Linear(d_model, d_model)
        self.w_k = nn.Linear(d_model, d_model)
        self.w_v = nn.Linear(d_model, d_model)
        self.w_o = nn.Linear(d_model, d_model)

    def forward(self, query, key, value, mask=None):
        heads = [split_heads(w(x), self.n_heads) for w, x in
                 [(self.w_q, query), (self.w_k, key), (self.w_v, value)]]
        y, att = scaled_dot_product_attention(*heads, mask=mask)
        return self.w_o(merge_heads(y)), att
