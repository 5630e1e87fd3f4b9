import math
import functools
import torch
import torch.nn as nn
import torch.nn.functional as F

from typing import Optional, Tuple

def split_heads(x, n_heads):
    b, t, d = x.shape
    return x.reshape(b, t, n_heads, d // n_heads).transpose(1, 2)

def merge_heads(x):
    b, h, t, d = x.shape
    return x.transpose(1, 2).reshape(b, t, h * d)

def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / math.sqrt(query.shape[-1])
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = scores.softmax(-1)
    return weights @ value, weights

class _MHA(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert d_model % n_heads == 0
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query: torch.Tensor, key: torch.Tensor, value: torch.Tensor, mask: Optional[torch.Tensor] = None) -> Tuple[torch.Tensor, torch.Tensor]:
        h = self.n_heads
        b = query.size(0)
        q = self.wq(query).view(b, -1, h, query.size(2) // h).transpose(1, 2)
        k = self.wk(key).view(b, -1, h, query.size(2) // h).transpose(1, 2)
        v = self.wv(value).view(b, -1, h, query.size(2) // h).transpose(1, 2)
        s = q @ k.transpose(-2, -1) / math.sqrt(float(q.size(-1)))
        if mask is not None:
            s = s.masked_fill(mask == 0, -1e9)
        w = torch.softmax(s, -1)
        return self.wo((w @ v).transpose(1, 2).reshape(b, -1, query.size(2))), w

def MultiHeadAttention(d_model, n_heads):
    return torch.jit.script(_MHA(d_model, n_heads))
