import torch
from torch import nn, Tensor
from typing import Optional, Tuple


def split_heads(x: Tensor, n_heads: int) -> Tensor:
    batch, length, width = x.shape
    return x.reshape(batch, length, n_heads, width // n_heads).swapaxes(1, 2)


def merge_heads(x: Tensor) -> Tensor:
    batch, heads, length, width = x.shape
    return x.swapaxes(1, 2).reshape(batch, length, heads * width)


def _probabilities(scores: Tensor, allowed: Optional[Tensor]) -> Tensor:
    if allowed is None:
        return torch.softmax(scores, -1)
    gate = (allowed != 0).to(scores.dtype)
    return torch.softmax(scores, -1) * gate


def scaled_dot_product_attention(query, key, value, mask=None) -> Tuple[Tensor, Tensor]:
    scores = torch.einsum("...id,...jd->...ij", query, key) / torch.tensor(float(key.shape[-1])).sqrt()
    p = _probabilities(scores, mask)
    return p @ value, p


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model: int, n_heads: int):
        super().__init__()
        if d_model % n_heads != 0:
            raise ValueError("d_model % n_heads != 0")
        self.n_heads = n_heads
        self.weights_in = nn.ParameterList([nn.Parameter(nn.init.xavier_uniform_(torch.empty(d_model, d_model))) for _ in range(3)])
        self.weight_out = nn.Parameter(nn.init.xavier_uniform_(torch.empty(d_model, d_model)))

    def forward(self, query, key, value, mask=None):
        q, k, v = (split_heads(torch.einsum("btd,ed->bte", t, w), self.n_heads)
                   for t, w in zip((query, key, value), self.weights_in))
        y, p = scaled_dot_product_attention(q, k, v, mask)
        return torch.einsum("btd,ed->bte", merge_heads(y), self.weight_out), p
