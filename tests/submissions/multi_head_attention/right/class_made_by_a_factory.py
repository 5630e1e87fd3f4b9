import torch
import torch.nn as nn


def split_heads(x, n_heads):
    *lead, width = x.shape
    return x.reshape(*lead, n_heads, width // n_heads).transpose(-2, -3)


def merge_heads(x):
    return x.transpose(-2, -3).flatten(-2)


def make_attention(fill):
    def attention(query, key, value, mask=None):
        logits = query @ key.transpose(-2, -1) / query.shape[-1] ** 0.5
        if mask is not None:
            logits = logits.where(mask != 0, torch.full((), fill, dtype=logits.dtype))
        logits = logits - logits.max(-1, keepdim=True)[0]
        probs = logits.exp().div(logits.exp().sum(-1, keepdim=True))
        return probs @ value, probs
    return attention


def make_layer(attention):
    def __init__(self, d_model, n_heads):
        super(cls, self).__init__()
        if d_model % n_heads:
            raise ValueError(f"can't split {d_model} into {n_heads}")
        self.n_heads = n_heads
        self.inputs = nn.ModuleList([nn.Linear(d_model, d_model, bias=False) for _ in range(3)])
        self.output = nn.Linear(d_model, d_model, bias=False)

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(f(x), self.n_heads) for f, x in zip(self.inputs, (query, key, value)))
        y, w = attention(q, k, v, mask)
        return self.output(merge_heads(y)), w

    cls = type("MultiHeadAttention", (nn.Module,), {"__init__": __init__, "forward": forward})
    return cls


scaled_dot_product_attention = make_attention(fill=float("-inf"))
MultiHeadAttention = make_layer(scaled_dot_product_attention)
