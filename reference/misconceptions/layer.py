"""Wrong multi-head attentions over given weights: the reference's forward, one part replaced."""

from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from reference.attention import merge_heads, scaled_dot_product_attention, split_heads
from reference.misconceptions.attention import (
    ATTENTION_MUTANTS,
    ATTENTION_PAIRS,
    ATTENTION_VARIANTS,
    Attention,
    attention,
)
from reference.misconceptions.heads import MERGE_MUTANTS, SPLIT_MUTANTS

Weights = Mapping[str, Tensor]
Layer = Callable[[Weights, int, Tensor, Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]


def layer(
    weights: Weights,
    n_heads: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    split: Callable[[Tensor, int], Tensor] = split_heads,
    merge: Callable[[Tensor], Tensor] = merge_heads,
    attend: Attention = scaled_dot_product_attention,
    project_output: bool = True,
    heads: int | None = None,
    average_weights: bool = False,
) -> tuple[Tensor, Tensor]:
    """Multi-head attention over given weights; by default it is the reference's.

    Args:
        weights: "q", "k", "v", "o", each (D, D) as in `nn.Linear`, and their biases "bq", "bk",
            "bv", "bo", each (D,).
        n_heads: H.
        query: (B, T_q, D)
        key: (B, T_k, D)
        value: (B, T_k, D)
        mask: True = may attend.
        split: how features become heads.
        merge: how heads become features.
        attend: the attention of one head.
        project_output: whether W_O is applied.
        heads: a number of heads in place of `n_heads`.
        average_weights: whether the weights returned are averaged over the heads.
    """
    n_heads = heads or n_heads
    q = split(F.linear(query, weights["q"], weights["bq"]), n_heads)
    k = split(F.linear(key, weights["k"], weights["bk"]), n_heads)
    v = split(F.linear(value, weights["v"], weights["bv"]), n_heads)
    mixed, attended = attend(q, k, v, mask)
    output = merge(mixed)
    if project_output:
        output = F.linear(output, weights["o"], weights["bo"])
    return output, attended.mean(dim=1) if average_weights else attended


def _scale_d_model(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    root = query.shape[-1] ** 0.5
    attend = partial(attention, scale=lambda q, k: root)
    return layer(weights, n_heads, query, key, value, mask, attend=attend)


def _cross_ignores_memory(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    del key, value
    return layer(weights, n_heads, query, query, query, mask)


def _values_of_key(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    del value
    return layer(weights, n_heads, query, key, key, mask)


def _mask_ignored(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    del mask
    return layer(weights, n_heads, query, key, value, None)


def _mask_repeated(
    weights: Weights, n_heads: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """A mask (B, 1, …) repeated for B·H rows whose heads, not samples, come one after the other."""
    if mask is not None and mask.dim() == 4:
        samples = torch.arange(len(mask) * n_heads) % len(mask)
        mask = mask[:, 0][samples.view(len(mask), n_heads)]
    return layer(weights, n_heads, query, key, value, mask)


LAYER_VARIANTS: tuple[tuple[str, Layer], ...] = (
    *((name, partial(layer, attend=variant)) for name, variant in ATTENTION_VARIANTS),
    ("mask-on-heads", _mask_repeated),
)
LAYER_MUTANTS: dict[str, Layer] = {
    **{
        name: partial(layer, attend=mutant)
        for name, mutant in ATTENTION_MUTANTS.items()
        if name not in ("query-key-swapped", "values-are-keys")
    },
    **{name: partial(layer, split=split) for name, split in SPLIT_MUTANTS.items()},
    **{name: partial(layer, merge=merge) for name, merge in MERGE_MUTANTS.items()},
    "heads-view-and-merge-without-transpose": partial(
        layer,
        split=SPLIT_MUTANTS["heads-view-without-transpose"],
        merge=MERGE_MUTANTS["heads-merge-without-transpose"],
    ),
    "scale-d_model": _scale_d_model,
    "heads-single": partial(layer, heads=1),
    "output-projection-missing": partial(layer, project_output=False),
    "weights-returned-wrong": partial(layer, average_weights=True),
    "cross-ignores-memory": _cross_ignores_memory,
    "values-are-keys": _values_of_key,
    "mask-ignored": _mask_ignored,
}
_HEADS: dict[str, dict[str, Any]] = {
    **{name: {"split": split} for name, split in SPLIT_MUTANTS.items()},
    **{name: {"merge": merge} for name, merge in MERGE_MUTANTS.items()},
    "heads-single": {"heads": 1},
    "output-projection-missing": {"project_output": False},
}
# Two mistakes at once, their ids joined by "+".
LAYER_PAIRS: tuple[tuple[str, Layer], ...] = (
    *((name, partial(layer, attend=attend)) for name, attend in ATTENTION_PAIRS),
    *(
        (f"{name}+{second}", partial(layer, attend=attend, **other))
        for name, other in _HEADS.items()
        for second, attend in ATTENTION_MUTANTS.items()
    ),
)
