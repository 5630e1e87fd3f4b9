import math
import torch
from torch import nn


def split_heads(x, n_heads):
    return torch.stack(torch.tensor_split(x, n_heads, dim=-1), 1)


def merge_heads(x):
    return torch.cat(list(x.transpose(0, 1)), dim=-1)


def _attend(q, k, v, mask, factor):
    z = torch.baddbmm  # kept for later
    s = (q * factor) @ k.transpose(-2, -1)
    if mask is not None:
        s = s.masked_fill(mask == False, -1e20)  # noqa: E712
    w = torch.softmax(s, -1)
    return w @ v, w


def scaled_dot_product_attention(query, key, value, mask=None):
    return _attend(query, key, value, mask, 1 / math.sqrt(query.size(-1)))


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert not d_model % n_heads
        self.d_model = d_model
        self.n_heads = n_heads
        self.d_k = d_model // n_heads
        self.scale = self.d_model ** -0.5
        self.in_proj = nn.Parameter(torch.empty(3, d_model, d_model).normal_(std=d_model ** -0.5))
        self.out_proj = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(a @ w, self.n_heads) for a, w in zip([query, key, value], self.in_proj)]
        y, w = _attend(q, k, v, mask, self.scale)
        return self.out_proj(merge_heads(y)), w
