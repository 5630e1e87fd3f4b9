"""Mixins, a dataclass config, and a dataclass that can be unpacked like a tuple."""
import dataclasses
import torch
from torch import nn


@dataclasses.dataclass(frozen=True)
class Config:
    bias: bool = False
    gain: float = 1.0


@dataclasses.dataclass
class AttentionResult:
    output: torch.Tensor
    weights: torch.Tensor

    def __iter__(self):
        return iter((self.output, self.weights))

    def __getitem__(self, i):
        return (self.output, self.weights)[i]

    def __len__(self):
        return 2


def split_heads(x, n_heads):
    return HeadsMixin.to_heads(x, n_heads)


def merge_heads(x):
    return HeadsMixin.from_heads(x)


class HeadsMixin:
    @staticmethod
    def to_heads(x, h):
        return x.unflatten(2, (h, x.shape[2] // h)).transpose(1, 2)

    @staticmethod
    def from_heads(x):
        return x.transpose(1, 2).flatten(2, 3)


class ScaledDotProduct:
    """a callable object"""

    def __call__(self, query, key, value, mask=None):
        batch = query.shape[:-2]
        q, k, v = (t.reshape(-1, *t.shape[-2:]) for t in (query, key, value))
        if mask is None:
            s = torch.bmm(q, k.transpose(1, 2)) * q.shape[-1] ** -0.5
        else:
            full = mask.to(torch.bool).expand(*batch, q.shape[1], k.shape[1]).reshape(-1, q.shape[1], k.shape[1])
            additive = torch.zeros(full.shape, dtype=q.dtype, device=q.device).masked_fill(~full, float("-inf"))
            s = torch.baddbmm(additive, q, k.transpose(1, 2), alpha=q.shape[-1] ** -0.5)
        w = torch.softmax(s, 2)
        y = torch.bmm(w, v)
        return AttentionResult(y.reshape(*batch, *y.shape[1:]), w.reshape(*batch, *w.shape[1:]))


scaled_dot_product_attention = ScaledDotProduct()


class Base(nn.Module):
    attend = staticmethod(scaled_dot_product_attention)

    def forward(self, query, key, value, mask=None):
        r = self.attend(*map(self.to_heads, self.project(query, key, value), [self.n_heads] * 3), mask)
        return dataclasses.replace(r, output=self.finish(self.from_heads(r.output)))


class MultiHeadAttention(HeadsMixin, Base):
    def __init__(self, d_model, n_heads, config: Config = Config()):
        super().__init__()
        if d_model // n_heads * n_heads != d_model:
            raise ValueError(f"cannot cut {d_model} into {n_heads} equal heads")
        self.n_heads = n_heads
        self.qk = nn.Linear(d_model, d_model * 2, bias=config.bias)
        self.v = nn.Linear(d_model, d_model, bias=config.bias)
        self.finish = nn.Sequential(nn.Identity(), nn.Linear(d_model, d_model, bias=config.bias))

    def project(self, q, k, v):
        # even rows make queries, odd rows make keys
        return self.qk(q)[..., 0::2], self.qk(k)[..., 1::2], self.v(v)
