import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    B, T, C = x.size()
    hs = C // n_heads
    x = x.view(B, T, n_heads, hs)
    x = x.transpose(1, 2)
    return x


def merge_heads(x):
    B, nh, T, hs = x.size()
    x = x.transpose(1, 2)
    x = x.contiguous()
    x = x.view(B, T, nh * hs)
    return x


def scaled_dot_product_attention(query, key, value, mask=None):
    att = query @ key.transpose(-2, -1)
    att = att * (1.0 / key.size(-1) ** 0.5)
    if mask is not None:
        att = att.masked_fill(mask == 0, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att @ value, att


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.n_head = n_head
        self.n_embd = n_embd

    def forward(self, query, key, value, mask=None):
        Wq, Wk, Wv = self.c_attn.weight.split(self.n_embd, dim=0)
        q = split_heads(F.linear(query, Wq), self.n_head)
        k = split_heads(F.linear(key, Wk), self.n_head)
        v = split_heads(F.linear(value, Wv), self.n_head)
        y, att = scaled_dot_product_attention(q, k, v, mask)
        y = merge_heads(y)
        self.c_proj(y)
        return y, att


def _selftest():
    t = torch.randn(2, 5, 8)
    assert split_heads(t, 2).shape == (2, 2, 5, 4)
    assert merge_heads(split_heads(t, 2)).shape == t.shape
