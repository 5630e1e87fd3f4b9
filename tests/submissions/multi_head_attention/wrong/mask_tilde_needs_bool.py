import torch
import torch.nn as nn
import torch.nn.functional as F
import math


def split_heads(x, n_heads):
    B, T, C = x.shape
    return x.view(B, T, n_heads, C // n_heads).transpose(1, 2)


def merge_heads(x):
    B, nh, T, hs = x.shape
    return x.transpose(1, 2).contiguous().view(B, T, nh * hs)


def scaled_dot_product_attention(q, k, v, mask=None):
    att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
    if mask is not None:
        att = att.masked_fill(~mask, float("-inf"))
    att = F.softmax(att, dim=-1)
    return att @ v, att


class MultiHeadAttention(nn.Module):
    def __init__(self, n_embd, n_head):
        super().__init__()
        assert n_embd % n_head == 0
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.n_head, self.n_embd = n_head, n_embd

    def forward(self, query, key, value, mask=None):
        q = self.c_attn(query).split(self.n_embd, dim=2)[0]
        k = self.c_attn(key).split(self.n_embd, dim=2)[1]
        v = self.c_attn(value).split(self.n_embd, dim=2)[2]
        q, k, v = (split_heads(t, self.n_head) for t in (q, k, v))
        y, att = scaled_dot_product_attention(q, k, v, mask)
        return self.c_proj(merge_heads(y)), att
