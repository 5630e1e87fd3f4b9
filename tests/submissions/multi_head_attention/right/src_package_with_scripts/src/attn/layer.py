import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from attn.core import scaled_dot_product_attention
from .heads import *
class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.wq = nn.Linear(d_model, d_model, bias=False)
        self.wk = nn.Linear(d_model, d_model, bias=False)
        self.wv = nn.Linear(d_model, d_model, bias=False)
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.wq(query), self.n_heads)
        k = split_heads(self.wk(key), self.n_heads)
        v = split_heads(self.wv(value), self.n_heads)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.wo(merge_heads(out)), w
