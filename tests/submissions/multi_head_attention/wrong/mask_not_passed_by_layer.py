import torch
import torch.nn as nn
import torch.nn.functional as F


def split_heads(x, n_heads):
    batch, seq, dim = x.shape
    x = x.view(batch, seq, n_heads, dim // n_heads)
    return x.permute(0, 2, 1, 3)


def merge_heads(x):
    batch, heads, seq, dim = x.shape
    x = x.permute(0, 2, 1, 3).contiguous()
    return x.view(batch, seq, heads * dim)


def scaled_dot_product_attention(query, key, value, mask=None):
    dk = query.size(-1)
    scores = torch.matmul(query, key.transpose(-2, -1)) / torch.sqrt(torch.tensor(dk, dtype=query.dtype))
    if mask is not None:
        scores = scores.masked_fill(mask == 0, -1e9)
    weights = F.softmax(scores, dim=-1)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model must be divisible by n_heads")
        self.n_heads = n_heads
        self.query = nn.Linear(d_model, d_model, bias=False)
        self.key = nn.Linear(d_model, d_model, bias=False)
        self.value = nn.Linear(d_model, d_model, bias=False)
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.query(query), self.n_heads)
        k = split_heads(self.key(key), self.n_heads)
        v = split_heads(self.value(value), self.n_heads)
        heads, weights = scaled_dot_product_attention(q, k, v)
        return self.output(merge_heads(heads)), weights
