import math
import torch
import torch.nn as nn


def split_heads(x, n_heads):
    batch, length, width = x.size()
    x = x.view(batch, length, n_heads, width // n_heads) if x.is_contiguous() \
        else x.reshape(batch, length, n_heads, width // n_heads)
    return x.transpose(1, 2)


def merge_heads(x):
    batch, heads, length, d = x.size()
    return x.transpose(1, 2).contiguous().view(batch, length, heads * d)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-1, -2)) / math.sqrt(key.size(-1))
    if mask is not None:
        scores = scores.masked_fill(mask.eq(0), -1e9)
    weights = nn.Softmax(dim=-1)(scores)
    return torch.matmul(weights, value), weights


class MultiHeadAttention(nn.Module):
    """as in the paper's formula: head_i = Attention(Q W_i^Q, K W_i^K, V W_i^V)"""

    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        d_k = d_model // n_heads
        self.wq = nn.ModuleList([nn.Linear(d_model, d_k, bias=False) for _ in range(n_heads)])
        self.wk = nn.ModuleList([nn.Linear(d_model, d_k, bias=False) for _ in range(n_heads)])
        self.wv = nn.ModuleList([nn.Linear(d_model, d_k, bias=False) for _ in range(n_heads)])
        self.wo = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.dim() == 4:
            mask = mask.squeeze(1)             # the same for every head
        heads, all_weights = [], []
        for wq, wk, wv in zip(self.wq, self.wk, self.wv):
            head, w = scaled_dot_product_attention(wq(query), wk(key), wv(value), mask)
            heads.append(head)
            all_weights.append(w)
        return self.wo(torch.cat(heads, dim=-1)), torch.stack(all_weights, dim=1)
