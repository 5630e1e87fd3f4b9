"""transformer_review, object oriented: template method pattern with an abstract base."""
from __future__ import annotations

import abc
import math
import types

import torch
import torch.nn as nn
import torch.nn.functional as F

ANSWERS = {"scale-for-d-k-64": "A", "attention-cost-doubling": 4}


def scaled_dot_product_attention(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor | None = None,
) -> tuple[torch.Tensor, torch.Tensor]:
    """Not F.scaled_dot_product_attention, which is not allowed here."""
    scores = torch.einsum("...td,...sd->...ts", query, key)
    scores /= math.sqrt(query.shape[-1])
    match mask:
        case None:
            pass
        case _ if mask.dtype == torch.bool:
            scores = scores.masked_fill(~mask, -math.inf)
        case _:
            scores = scores.masked_fill(mask < 0.5, -math.inf)
    probabilities = F.softmax(scores, dim=-1)
    return torch.einsum("...ts,...sd->...td", probabilities, value), probabilities


class AttentionBase(nn.Module, abc.ABC):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__()
        quotient, rest = divmod(d_model, n_heads)
        if rest:
            raise ValueError(f"{d_model=} is not divisible by {n_heads=}")
        self.n_heads, self.d_k = n_heads, quotient

    @abc.abstractmethod
    def project(self, query, key, value): ...

    @abc.abstractmethod
    def unproject(self, context): ...

    def forward(self, query, key, value, mask=None):
        q, k, v = self.project(query, key, value)
        context, probabilities = scaled_dot_product_attention(q, k, v, mask)
        return self.unproject(context), probabilities


class MultiHeadAttention(AttentionBase):
    def __init__(self, d_model: int, n_heads: int) -> None:
        super().__init__(d_model, n_heads)
        new = lambda: nn.Parameter(nn.init.xavier_uniform_(torch.empty(d_model, d_model)).view(d_model, n_heads, -1))
        self.w_query, self.w_key, self.w_value, self.w_out = new(), new(), new(), new()

    def project(self, query, key, value):
        return tuple(
            torch.einsum("btm,mhd->bhtd", x, w)
            for x, w in ((query, self.w_query), (key, self.w_key), (value, self.w_value))
        )

    def unproject(self, context):
        return torch.einsum("bhtd,mhd->btm", context, self.w_out)


class PositionalEncodings:
    @staticmethod
    def table(max_len: int, d_model: int) -> torch.Tensor:
        pair = torch.arange(d_model, dtype=torch.float64) / 2
        angle = torch.arange(max_len, dtype=torch.float64).unsqueeze(-1) * torch.exp2(
            -pair * 2 / d_model * math.log2(10000)
        )
        even = (torch.arange(d_model) & 1) == 0
        return angle.sin().where(even, angle.cos()).float()

    @staticmethod
    def triangle(size: int) -> torch.Tensor:
        return torch.ones(size, size, dtype=torch.bool).tril_()


sinusoidal_positional_encoding = PositionalEncodings.table
causal_mask = PositionalEncodings.triangle


class Layer(nn.Module, abc.ABC):
    """A list of (sublayer, norm) pairs; subclasses say how each sublayer is called."""

    attentions: tuple[str, ...] = ()

    def __init__(self, d_model: int, n_heads: int, d_ff: int, activation: type[nn.Module] = nn.ReLU) -> None:
        super().__init__()
        for name in self.attentions:
            self.add_module(name, MultiHeadAttention(d_model, n_heads))
        self.feed_forward = nn.Sequential()
        self.feed_forward.add_module("in", nn.Linear(d_model, d_ff))
        self.feed_forward.add_module("act", activation())
        self.feed_forward.add_module("out", nn.Linear(d_ff, d_model))
        for name in (*self.attentions, "feed_forward"):
            self.add_module(f"{name}_norm", nn.LayerNorm(d_model))

    def sub(self, name, x, *args):
        y = getattr(self, name)(x, *args)
        y = y[0] if isinstance(y, tuple) else y
        return getattr(self, f"{name}_norm")(x + y)

    @staticmethod
    def allowed(padding):
        return None if padding is None else ~padding[:, None, None, :]


class EncoderBlock(Layer):
    attentions = ("self_attention",)

    def forward(self, x, key_padding_mask=None):
        x = self.sub("self_attention", x, x, x, self.allowed(key_padding_mask))
        return self.sub("feed_forward", x)


class DecoderBlock(Layer):
    attentions = ("self_attention", "cross_attention")

    def forward(self, x, memory, memory_key_padding_mask=None):
        x = self.sub("self_attention", x, x, x, causal_mask(x.shape[1]))
        x = self.sub("cross_attention", x, memory, memory, self.allowed(memory_key_padding_mask))
        return self.sub("feed_forward", x)


class PixelBERT(nn.Module):
    def __init__(self, n_classes=10, patch_size=2, d_model=32, n_heads=4, d_ff=64):
        super().__init__()
        self.config = types.SimpleNamespace(n=8 // patch_size, p=patch_size)
        self.patch_projection = nn.Linear(patch_size ** 2, d_model)
        self.cls_token = nn.Parameter(torch.zeros(1, 1, d_model))
        self.position_embeddings = nn.Parameter(torch.zeros(1, self.config.n ** 2 + 1, d_model))
        self.embedding_norm = nn.LayerNorm(d_model)
        self.dropout = nn.Dropout(0.1)
        self.encoder = EncoderBlock(d_model, n_heads, d_ff)
        self.pooler = nn.Sequential(nn.Linear(d_model, d_model), nn.Tanh())
        self.classifier = nn.Linear(d_model, n_classes)
        nn.init.normal_(self.cls_token, std=0.02)
        nn.init.normal_(self.position_embeddings, std=0.02)

    def forward(self, images):
        c = self.config
        patches = images.reshape(-1, c.n, c.p, c.n, c.p).swapaxes(2, 3).reshape(-1, c.n * c.n, c.p * c.p)
        x = self.patch_projection(patches)
        x = torch.cat((self.cls_token.expand(x.shape[0], -1, -1), x), dim=1) + self.position_embeddings
        x = self.encoder(self.dropout(self.embedding_norm(x)))
        return self.classifier(self.pooler(x[:, 0]))


def mean_aggregate(features: torch.Tensor, adjacency: torch.Tensor) -> torch.Tensor:
    hat = adjacency.float().clamp(0, 1)
    hat = hat.diagonal_scatter(torch.ones(hat.shape[0]))
    return (hat / hat.norm(p=1, dim=1, keepdim=True)).mm(features)
