"""Wrong sinusoidal positional encodings: the formula of the reference with one part replaced."""

import math
from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor


def encoding(
    max_len: int,
    d_model: int,
    *,
    first: int = 0,
    base: float = 10_000.0,
    exponent: Callable[[Tensor], Tensor] = lambda even: even,
    cos_exponent: Callable[[Tensor], Tensor] | None = None,
    swapped: bool = False,
    halves: bool = False,
) -> Tensor:
    """The formula with its parts as arguments; by default it is the reference's.

    Args:
        max_len: positions.
        d_model: D, even.
        first: the first position.
        base: 10000.
        exponent: of the base, times -1/D, as a function of the even columns 2i.
        cos_exponent: that of the cosines, where it is another one.
        swapped: cosines in even columns.
        halves: all sines, then all cosines.

    Returns:
        (max_len, D)
    """
    position = torch.arange(first, first + max_len, dtype=torch.float64)[:, None]
    even = torch.arange(0, d_model, 2, dtype=torch.float64)
    sin = torch.sin(position * base ** (-exponent(even) / d_model))
    cos = torch.cos(position * base ** (-(cos_exponent or exponent)(even) / d_model))
    if swapped:
        sin, cos = cos, sin
    joined = torch.cat([sin, cos], 1) if halves else torch.stack([sin, cos], 2).flatten(1)
    return joined.float()


POSITIONAL_MUTANTS: dict[str, list[Callable[[int, int], Tensor]]] = {
    "pe-sin-cos-swapped": [partial(encoding, swapped=True)],
    "pe-halves": [partial(encoding, halves=True)],
    "pe-exponent-doubled": [partial(encoding, exponent=lambda even: 2 * even)],
    "pe-exponent-cos": [partial(encoding, cos_exponent=lambda even: even + 1)],
    "pe-exponent-index": [
        partial(encoding, exponent=lambda even: even / 2),
        partial(encoding, exponent=lambda even: even / 2, halves=True),
    ],
    "hard-coded-figures": [
        partial(encoding, exponent=lambda even: even * (2 * len(even) / 8)),  # the lesson's d_model
    ],
    "pe-one-frequency": [
        partial(encoding, exponent=lambda even: 0 * even),
        partial(encoding, exponent=lambda even: 0 * even + len(even) * 2),
    ],
    "pe-base": [
        partial(encoding, base=base)
        for base in (
            math.e**4,
            10.0,
            100.0,
            1000.0,
            5000.0,
            20_000.0,
            100_000.0,
            500_000.0,
            1_000_000.0,
        )
    ],
    "pe-position-from-one": [partial(encoding, first=1)],
}
