"""Wrong scaled dot-product attentions: the recipe of the reference with one step replaced."""

import math
from collections.abc import Callable
from functools import partial

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
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    del value
    return attention(query, key, key, mask)


def _swapped(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    return attention(key, query, value, mask)


def _causal_built_in(
    query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> tuple[Tensor, Tensor]:
    causal = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    return attention(query, key, value, causal if mask is None else causal & (mask != 0))


def _renormalise_not(weights: Tensor, mask: Tensor | None) -> Tensor:
    return weights if mask is None else weights * (mask != 0)


def _mask_zero_scores(scores: Tensor) -> Tensor:
    return torch.softmax(scores.masked_fill(scores == 0, -math.inf), dim=-1)


# Further ways to make a mistake, each with its id.
ATTENTION_VARIANTS: tuple[tuple[str, Attention], ...] = (
    ("scale-constant", partial(attention, scale=lambda q, k: 8.0)),  # √64, the lesson's question
)
ATTENTION_MUTANTS: dict[str, Attention] = {
    "scale-missing": partial(attention, scale=lambda q, k: 1.0),
    "scale-d_k": partial(attention, scale=lambda q, k: q.shape[-1]),
    "scale-d_k-squared": partial(attention, scale=lambda q, k: q.shape[-1] ** 2),
    "scale-multiplied": partial(attention, scale=lambda q, k: q.shape[-1] ** -0.5),
    "scale-length": partial(attention, scale=lambda q, k: math.sqrt(k.shape[-2])),
    "scale-constant": partial(attention, scale=lambda q, k: math.sqrt(8)),  # the lesson's d_k
    "softmax-over-queries": partial(attention, normalise=lambda s: torch.softmax(s, dim=-2)),
    "softmax-over-heads": partial(
        attention, normalise=lambda s: torch.softmax(s, dim=-3 if s.dim() > 2 else -1)
    ),
    "softmax-missing": partial(attention, normalise=lambda s: s),
    "mask-inverted": partial(
        attention, hide=lambda s, mask: s.masked_fill(mask != 0, torch.finfo(s.dtype).min)
    ),
    "mask-after-softmax": partial(attention, hide=lambda s, mask: s, after=_renormalise_not),
    "mask-fill-zero": partial(attention, hide=lambda s, mask: s.masked_fill(mask == 0, 0.0)),
    "mask-ignored": partial(attention, hide=lambda s, mask: s),
    "mask-on-query-axis": partial(
        attention,
        hide=lambda s, mask: s.masked_fill(mask.transpose(-2, -1) == 0, torch.finfo(s.dtype).min),
    ),
    "mask-zero-scores": partial(
        attention,
        hide=lambda s, mask: s * (mask != 0),
        normalise=_mask_zero_scores,
    ),
    "causal-built-in": _causal_built_in,
    "values-are-keys": _values_are_keys,
    "query-key-swapped": _swapped,
}
