from abc import ABC, abstractmethod
import torch
from torch import nn


class HeadsMixin:
    n_heads: int

    @staticmethod
    def _split(x, n_heads):
        shape = (x.size(0), x.size(1), n_heads, x.size(2) // n_heads)
        return x.reshape(shape).transpose(1, 2)

    @staticmethod
    def _merge(x):
        return x.transpose(1, 2).reshape(x.size(0), x.size(2), x.size(1) * x.size(3))


class Scoring(ABC):
    @abstractmethod
    def scores(self, q, k): ...

    def attend(self, q, k, v, mask=None):
        s = self.scores(q, k)
        if mask is not None:
            s = s.masked_fill(mask == 0, float("-inf"))
        w = s.softmax(-1)
        return w @ v, w


class ScaledDot(Scoring):
    def scores(self, q, k):
        return q @ k.transpose(-1, -2) / q.size(-1) ** 0.5


class _Projected(nn.Module):
    def __init__(self, d_model):
        super().__init__()
        self.lin_query, self.lin_key, self.lin_value, self.lin_out = (
            nn.Linear(d_model, d_model, bias=False) for _ in range(4))


class MultiHeadAttention(ScaledDot, HeadsMixin, _Projected):
    def __init__(self, d_model, n_heads):
        if d_model % n_heads:
            raise ValueError(f"{d_model=} is not a multiple of {n_heads=}")
        super().__init__(d_model)
        self.n_heads = n_heads

    def forward(self, query, key, value, mask=None):
        q, k, v = (self._split(lin(x), self.n_heads) for lin, x in
                   ((self.lin_query, query), (self.lin_key, key), (self.lin_value, value)))
        y, w = self.attend(q, k, v, mask)
        return self.lin_out(self._merge(y)), w


split_heads, merge_heads = HeadsMixin._split, HeadsMixin._merge
scaled_dot_product_attention = ScaledDot().attend
