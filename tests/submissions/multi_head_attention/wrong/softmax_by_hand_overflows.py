import torch
import torch.nn as nn


def softmax(scores):
    exps = scores.exp()
    return exps / exps.sum(-1, keepdim=True)


def split_heads(x: torch.Tensor, n_heads: int) -> torch.Tensor:
    return x.unflatten(-1, (n_heads, -1)).transpose(1, 2)


def merge_heads(x: torch.Tensor) -> torch.Tensor:
    return x.transpose(1, 2).flatten(start_dim=2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query @ key.transpose(-2, -1) / query.size(-1) ** 0.5
    if mask is not None:
        scores = scores.masked_fill(mask == 0, float("-inf"))
    weights = softmax(scores)
    return weights @ value, weights


class MultiHeadAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        if dim % heads != 0:
            raise ValueError("dim must be divisible by heads")
        self.heads = heads
        self.Q = nn.Linear(dim, dim, bias=False)
        self.K = nn.Linear(dim, dim, bias=False)
        self.V = nn.Linear(dim, dim, bias=False)
        self.O = nn.Linear(dim, dim, bias=False)

    def forward(self, query, key, value, mask=None):
        q = split_heads(self.Q(query), self.heads)
        k = split_heads(self.K(key), self.heads)
        v = split_heads(self.V(value), self.heads)
        out, w = scaled_dot_product_attention(q, k, v, mask)
        return self.O(merge_heads(out)), w
