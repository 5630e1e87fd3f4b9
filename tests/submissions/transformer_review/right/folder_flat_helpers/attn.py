import math

import torch
from torch import nn


def attention(query, key, value, mask=None):
    s = query @ key.transpose(-2, -1) / math.sqrt(query.size(-1))
    if mask is not None:
        s = s.masked_fill(mask == 0, float("-inf"))
    p = s.softmax(-1)
    return p @ value, p


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        if width % heads:
            raise ValueError("width must be a multiple of heads")
        self.heads = heads
        self.to_q = nn.Linear(width, width, bias=False)
        self.to_kv = nn.Linear(width, 2 * width, bias=False)
        self.to_out = nn.Linear(width, width, bias=False)

    def forward(self, query, key, value, mask=None):
        k_rows, v_rows = self.to_kv.weight.chunk(2)
        q, k, v = self.to_q(query), key @ k_rows.t(), value @ v_rows.t()
        q, k, v = (t.unflatten(2, (self.heads, -1)).transpose(1, 2) for t in (q, k, v))
        out, p = attention(q, k, v, mask)
        return self.to_out(out.transpose(1, 2).flatten(2)), p
