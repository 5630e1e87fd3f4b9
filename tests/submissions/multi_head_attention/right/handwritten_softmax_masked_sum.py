"""Softmax written out; the masked keys are left out of the maximum and of the sum."""
import torch
import torch.nn as nn


def masked_softmax(scores, allowed=None):
    if allowed is None:
        e = torch.exp(scores - scores.amax(-1, keepdim=True))
        return e / e.sum(-1, keepdim=True)
    allowed = allowed.to(torch.bool)
    top = scores.masked_fill(~allowed, float("-inf")).amax(-1, keepdim=True)
    shifted = torch.where(allowed, scores - top, torch.zeros(()))     # no overflow in exp
    e = torch.exp(shifted) * allowed
    return e / e.sum(-1, keepdim=True)


def split_heads(x, n_heads):
    B, T, D = x.shape
    return x.reshape(B, T, n_heads, -1).transpose(1, 2)


def merge_heads(x):
    B, H, T, d = x.shape
    return x.transpose(1, 2).reshape(B, T, -1)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query.matmul(key.transpose(-2, -1)) / query.shape[-1] ** .5
    weights = masked_softmax(scores, mask)
    return weights.matmul(value), weights


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super(MultiHeadAttention, self).__init__()
        if (d_model % n_heads) != 0:
            raise ValueError("not divisible")
        self.n_heads = n_heads
        self.linears = nn.ModuleDict({
            "query": nn.Linear(d_model, d_model, bias=False),
            "key": nn.Linear(d_model, d_model, bias=False),
            "value": nn.Linear(d_model, d_model, bias=True),     # only this one has a bias
            "output": nn.Linear(d_model, d_model, bias=False),
        })

    def forward(self, query, key, value, mask=None):
        inputs = {"query": query, "key": key, "value": value}
        heads = {n: split_heads(self.linears[n](x), self.n_heads) for n, x in inputs.items()}
        z, weights = scaled_dot_product_attention(**heads, mask=mask)
        return self.linears["output"](merge_heads(z)), weights
