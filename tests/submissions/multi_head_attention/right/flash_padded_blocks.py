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

def scaled_dot_product_attention(query, key, value, mask=None, block=128):
    """Pads keys and queries to whole blocks as the GPU kernel does."""
    tq, tk = query.shape[-2], key.shape[-2]
    pq, pk = -tq % block, -tk % block
    q = F.pad(query, (0, 0, 0, pq)); k = F.pad(key, (0, 0, 0, pk)); v = F.pad(value, (0, 0, 0, pk))
    ok = torch.ones(tq, tk, dtype=torch.bool) if mask is None else (mask != 0).expand(torch.broadcast_shapes(mask.shape, (tq, tk)))
    ok = F.pad(ok, (0, pk, 0, pq), value=False)
    s = (q @ k.transpose(-2, -1) / math.sqrt(query.shape[-1])).masked_fill(~ok, -1e9)
    w = s.softmax(-1)
    return (w @ v)[..., :tq, :], w[..., :tq, :tk]

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
