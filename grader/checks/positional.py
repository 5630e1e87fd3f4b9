"""Checks of the sinusoidal positional encoding: (max_len, d_model) -> (max_len, d_model)."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.tensors import assert_tensor, kind_text, show
from grader.diagnosis import describe, matching
from grader.errors import CheckFailure
from grader.student import Definition
from reference import sinusoidal_positional_encoding
from reference.misconceptions.positional import POSITIONAL_MUTANTS

NEAR = 500  # positions up to here are compared to 1e-4, later ones to 1e-3
OTHER_SIZE = (7, 12)  # positions and features in which no two mistakes agree
SHOWN = (3, 4)  # rows and columns of a table that a message shows


def encoding(define: Definition, max_len: int, d_model: int) -> Tensor:
    """The submission's table, of the right shape and dtype; a CheckFailure otherwise."""
    returned: Any = define(max_len, d_model)
    shape = tuple(returned.shape) if isinstance(returned, Tensor) else ()
    if shape[1:] == (d_model,) and shape[0] < max_len:
        raise CheckFailure(
            f"The table ends after {shape[0]} of {max_len} positions.",
            f"a tensor of shape ({max_len}, {d_model})",
            kind_text(returned),
            misconception="pe-too-short",
        )
    return assert_tensor(returned, (max_len, d_model), "The positional encoding")


def assert_encoding(define: Definition, max_len: int, d_model: int) -> None:
    """See that a table is the reference's; a table computed in float32 passes.

    Args:
        define: the submission's function.
        max_len: positions.
        d_model: D, even.
    """
    got = encoding(define, max_len, d_model)
    expected = sinusoidal_positional_encoding(max_len, d_model)
    tolerance = torch.full((max_len, 1), 1e-4)
    tolerance[NEAR + 1 :] = 1e-3
    wrong = ~((got - expected).abs() <= tolerance)
    if not bool(wrong.any()):
        return
    candidates = (
        (name, partial(mutant, max_len, d_model))
        for name, mutants in POSITIONAL_MUTANTS.items()
        for mutant in mutants
    )
    ids = matching(got, expected, candidates)
    if len(ids) > 1:
        ids = _agreeing(define, ids) or ids
    misconception, sentence = describe(ids)
    position, column = (int(index) for index in wrong.nonzero()[0])
    rows = slice(position, position + SHOWN[0])
    columns = slice(0, max(SHOWN[1], column + 1)) if column < 8 else slice(column, column + 1)
    raise CheckFailure(
        f"The table is wrong from position {position}, dimension {column} on. "
        f"{sentence or ''}".strip(),
        f"rows {position}…: {show(expected[rows, columns])}",
        f"rows {position}…: {show(got[rows, columns])}",
        f"sinusoidal_positional_encoding({max_len}, {d_model})",
        misconception,
    )


def _agreeing(define: Definition, ids: list[str]) -> list[str]:
    """Of mistakes that give the same table in one size, those that give it in another size too."""
    max_len, d_model = OTHER_SIZE
    got = encoding(define, max_len, d_model)
    expected = sinusoidal_positional_encoding(max_len, d_model)
    candidates = (
        (name, partial(mutant, max_len, d_model))
        for name in ids
        for mutant in POSITIONAL_MUTANTS[name]
    )
    return matching(got, expected, candidates)
