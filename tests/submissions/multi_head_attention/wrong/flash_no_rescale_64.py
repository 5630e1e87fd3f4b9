import math
import functools
import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 2)

def merge_heads(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)

def scaled_dot_product_attention(query, key, value, mask=None, block=64):
    q = query / math.sqrt(query.shape[-1])
    T = key.shape[-2]
    if mask is not None:
        mask = (mask != 0).expand(torch.broadcast_shapes(mask.shape, (q.shape[-2], T)))
    m = l = o = None
    ws = []
    for s in range(0, T, block):
        sc = q @ key[..., s:s+block, :].transpose(-2, -1)
        if mask is not None:
            sc = sc.masked_fill(~mask[..., s:s+block], -1e9)
        ws.append(sc)
        mm = sc.amax(-1, keepdim=True)
        if m is None:
            m = mm
            p = torch.exp(sc - m)
            l = p.sum(-1, keepdim=True)
            o = p @ value[..., s:s+block, :]
        else:
            new = torch.maximum(m, mm)
            p = torch.exp(sc - new)
            a = torch.exp(m - new)
            l = l * a + p.sum(-1, keepdim=True)
            o = o + p @ value[..., s:s+block, :]
            m = new
    return o / l, torch.exp(torch.cat(ws, -1) - m) / l

class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.wq(query), self.n_heads)
        k = split_heads(self.wk(key), self.n_heads)
        v = split_heads(self.wv(value), self.n_heads)
        o, w = scaled_dot_product_attention(q, k, v, mask)
        return self.wo(merge_heads(o)), w
