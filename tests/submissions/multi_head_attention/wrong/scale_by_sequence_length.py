import torch
from torch import nn, Tensor
from typing import Optional


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    return x.unflatten(-1, (n_heads, x.size(-1) // n_heads)).transpose(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(start_dim=2)


def scaled_dot_product_attention(query: Tensor, key: Tensor, value: Tensor,
                                 mask: Optional[Tensor] = None):
    scale = key.size(-2) ** -0.5
    scores = query.matmul(key.transpose(-2, -1)).mul(scale)
    if mask is not None:
        scores = scores.masked_fill(mask.to(torch.bool).logical_not(), float("-inf"))
    probs = scores.softmax(dim=-1)
    return probs.matmul(value), probs


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads:
            raise ValueError("bad head count")
        self.n_heads = n_heads
        self.proj = nn.ModuleList(nn.Linear(d_model, d_model, bias=False) for _ in range(4))

    def forward(self, query, key, value, mask=None):
        q, k, v = [split_heads(lin(t), self.n_heads)
                   for lin, t in zip(self.proj, (query, key, value))]
        out, probs = scaled_dot_product_attention(q, k, v, mask)
        return self.proj[3](merge_heads(out)), probs
