"""Wrong scaled dot-product attentions: the recipe of the reference with one step replaced."""

import itertools
import math
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import torch
from torch import Tensor

Attention = Callable[[Tensor, Tensor, Tensor, Tensor | None], tuple[Tensor, Tensor]]


def right_scale(query: Tensor, key: Tensor) -> float:  # noqa: ARG001
    """√d_k, what scores are divided by."""
    return math.sqrt(query.shape[-1])


def right_hide(scores: Tensor, mask: Tensor) -> Tensor:
    """Scores with -inf where the mask is False."""
    return scores.masked_fill(mask == 0, -math.inf)


def right_normalise(scores: Tensor) -> Tensor:
    """Softmax over the keys."""
    return torch.softmax(scores, dim=-1)


def attention(
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    *,
    scale: Callable[[Tensor, Tensor], float] = right_scale,
    hide: Callable[[Tensor, Tensor], Tensor] = right_hide,
    normalise: Callable[[Tensor], Tensor] = right_normalise,
    after: Callable[[Tensor, Tensor | None], Tensor] = lambda weights, _: weights,
) -> tuple[Tensor, Tensor]:
    """The recipe with its steps as arguments; by default it is the reference's.

    Args:
        query: (..., T_q, d_k)
        key: (..., T_k, d_k)
        value: (..., T_k, d_v)
        mask: True = may attend.
        scale: what scores are divided by.
        hide: how a mask acts on the scores.
        normalise: how scores become weights.
        after: what is done to the weights before they meet the values.
    """
    scores = query @ key.transpose(-2, -1) / scale(query, key)
    if mask is not None:
        scores = hide(scores, mask)
    weights = after(normalise(scores), mask)
    return weights @ value, weights


def _values_are_keys(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **steps: Any
) -> tuple[Tensor, Tensor]:
    del value
    return attention(query, key, key, mask, **steps)


def _swapped(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **steps: Any
) -> tuple[Tensor, Tensor]:
    return attention(key, query, value, mask, **steps)


def _causal_built_in(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None, **steps: Any
) -> tuple[Tensor, Tensor]:
    causal = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    mask = causal if mask is None else causal & (mask != 0)
    return attention(query, key, value, mask, **steps)


def _renormalise_not(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights * (mask != 0)


def _mask_zero_scores(scores: Tensor) -> Tensor:
    return torch.softmax(scores.masked_fill(scores == 0, -math.inf), dim=-1)


# Further ways to make a mistake, each with its id.
ATTENTION_VARIANTS: tuple[tuple[str, Attention], ...] = (
    ("scale-constant", partial(attention, scale=lambda q, k: 8.0)),  # √64, the lesson's question
)
# The steps that a mistake replaces, by its id.
_STEPS: dict[str, dict[str, Any]] = {
    "scale-missing": {"scale": lambda q, k: 1.0},
    "scale-d_k": {"scale": lambda q, k: q.shape[-1]},
    "scale-d_k-squared": {"scale": lambda q, k: q.shape[-1] ** 2},
    "scale-multiplied": {"scale": lambda q, k: q.shape[-1] ** -0.5},
    "scale-length": {"scale": lambda q, k: math.sqrt(k.shape[-2])},
    "scale-constant": {"scale": lambda q, k: math.sqrt(8)},  # the lesson's d_k
    "softmax-over-queries": {"normalise": lambda s: torch.softmax(s, dim=-2)},
    "softmax-over-heads": {"normalise": lambda s: torch.softmax(s, dim=-3 if s.dim() > 2 else -1)},
    "softmax-missing": {"normalise": lambda s: s},
    "mask-inverted": {"hide": lambda s, mask: s.masked_fill(mask != 0, torch.finfo(s.dtype).min)},
    "mask-after-softmax": {"hide": lambda s, mask: s, "after": _renormalise_not},
    "mask-fill-zero": {"hide": lambda s, mask: s.masked_fill(mask == 0, 0.0)},
    "mask-ignored": {"hide": lambda s, mask: s},
    "mask-on-query-axis": {
        "hide": lambda s, mask: s.masked_fill(
            mask.transpose(-2, -1) == 0, torch.finfo(s.dtype).min
        ),
    },
    "mask-zero-scores": {
        "hide": lambda s, mask: s * (mask != 0),
        "normalise": _mask_zero_scores,
    },
}
# Mistakes in what goes into the steps, so that any of these may be wrong besides.
_INPUTS: dict[str, Callable[..., tuple[Tensor, Tensor]]] = {
    "causal-built-in": _causal_built_in,
    "values-are-keys": _values_are_keys,
    "query-key-swapped": _swapped,
}
ATTENTION_MUTANTS: dict[str, Attention] = {
    **{name: partial(attention, **steps) for name, steps in _STEPS.items()},
    **_INPUTS,
}


def _pairs() -> Iterator[tuple[str, Attention]]:
    """Two mistakes at once, where neither takes the other's place."""
    for (first, steps), (second, others) in itertools.combinations(_STEPS.items(), 2):
        if not steps.keys() & others.keys():
            yield f"{first}+{second}", partial(attention, **steps, **others)
    for name, other in _INPUTS.items():
        for second, steps in _STEPS.items():
            yield f"{name}+{second}", partial(other, **steps)


ATTENTION_PAIRS: tuple[tuple[str, Attention], ...] = tuple(_pairs())
