"""Every head is a module and owns its slice of the output matrix:
concat(heads) @ W_o  ==  sum over heads of head_i @ W_o[i]."""
import torch
from torch import Tensor, nn


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    pieces = torch.tensor_split(x, n_heads, dim=2)
    return torch.cat([p[:, None] for p in pieces], dim=1)


def merge_heads(x: Tensor) -> Tensor:
    return torch.cat([x[:, h] for h in range(x.shape[1])], dim=2)


def scaled_dot_product_attention(query, key, value, mask=None):
    scores = query.matmul(key.transpose(-2, -1)).div(query.shape[-1] ** 0.5)
    if mask is not None:
        scores = scores + (1.0 - mask.to(scores.dtype)) * -1e4
    weights = scores.softmax(-1)
    return weights.matmul(value), weights


class AttentionHead(nn.Module):
    def __init__(self, d_model, d_k):
        super().__init__()
        self.query = nn.Linear(d_model, d_k, bias=False)
        self.key = nn.Linear(d_model, d_k, bias=False)
        self.value = nn.Linear(d_model, d_k, bias=False)
        self.out = nn.Linear(d_k, d_model, bias=False)

    def forward(self, q, k, v, mask=None):
        y, w = scaled_dot_product_attention(self.query(q), self.key(k), self.value(v), mask)
        return self.out(y), w


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        assert not d_model % n_heads
        self.heads = nn.ModuleList(AttentionHead(d_model, d_model // n_heads) for _ in range(n_heads))

    def forward(self, query, key, value, mask=None):
        if mask is not None and mask.ndim == 4:
            mask = mask[:, 0]
        results = [head(query, key, value, mask) for head in self.heads]
        return sum(y for y, _ in results), torch.stack([w for _, w in results], 1)
