import torch
from torch import nn


def attention_weights(q, k, mask):
    s = torch.matmul(q, torch.transpose(k, -2, -1)) * q.shape[-1] ** -0.5
    if mask is not None:
        s = s.masked_fill(torch.logical_not(mask), -3e4)
    return torch.softmax(s, dim=-1)


def scaled_dot_product_attention(query, key, value, mask=None):
    w = attention_weights(query, key, mask)
    return torch.matmul(w, value), w


def split_heads(x, n_heads):
    return x.view(*x.shape[:2], n_heads, -1).transpose(1, 2) if x.is_contiguous() else split_heads(x.contiguous(), n_heads)


def merge_heads(x):
    return torch.cat(torch.split(x, 1, dim=1), dim=3).squeeze(1)


class MultiheadAttention(nn.Module):
    """My own class, though PyTorch has one of that spelling too."""

    def __init__(self, d_model, n_heads, *, bias=True):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("n_heads")
        self.n_heads = n_heads
        self.query, self.key, self.value, self.dense = (nn.Linear(d_model, d_model, bias) for _ in "qkvo")

    def forward(self, query, key, value, mask=None):
        q, k, v = self.query(query), self.key(key), self.value(value)
        q, k, v = (split_heads(t, self.n_heads) for t in (q, k, v))
        y, w = scaled_dot_product_attention(q, k, v, mask)
        return self.dense(merge_heads(y)), w


MultiHeadAttention = MultiheadAttention
