import torch, torch.nn as nn, torch.nn.functional as F
from math import sqrt

split_heads = lambda x, n_heads: x.unflatten(-1, (n_heads, -1)).transpose(1, 2)
merge_heads = lambda x: x.transpose(1, 2).flatten(-2)

def scaled_dot_product_attention(query, key, value, mask=None):
    logits = torch.matmul(query, key.transpose(-1, -2)).mul(1 / sqrt(key.shape[-1]))
    if mask is not None:
        logits = logits.masked_fill(~mask, torch.finfo(logits.dtype).min)
    weights = F.softmax(logits, dim=-1)
    return torch.matmul(weights, value), weights

class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads != 0: raise ValueError(f"{dim} is not divisible by {heads}")
        self.heads = heads
        self.kv = nn.Linear(dim, 2 * dim, bias=False)
        self.q = nn.Linear(dim, dim, bias=False)
        self.o = nn.Linear(dim, dim, bias=False)
    def forward(self, query, key, value, mask=None):
        wk, wv = self.kv.weight.chunk(2)
        q, k, v = self.q(query), F.linear(key, wk), F.linear(value, wv)
        y, w = scaled_dot_product_attention(split_heads(q, self.heads), split_heads(k, self.heads), split_heads(v, self.heads), mask)
        return self.o(merge_heads(y)), w
