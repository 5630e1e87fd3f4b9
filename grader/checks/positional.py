"""Checks of the sinusoidal positional encoding: (max_len, d_model) -> (max_len, d_model)."""

from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.tensors import assert_tensor, show
from grader.diagnosis import describe, matching
from grader.errors import CheckFailure
from grader.student import Definition
from reference import sinusoidal_positional_encoding
from reference.misconceptions.positional import POSITIONAL_MUTANTS

NEAR = 500  # positions up to here are compared to 1e-4, later ones to 1e-3
SHOWN = (3, 4)  # rows and columns of a table that a message shows


def encoding(define: Definition, max_len: int, d_model: int) -> Tensor:
    """The submission's table, of the right shape and dtype; a CheckFailure otherwise."""
    returned: Any = define(max_len, d_model)
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
    misconception, sentence = describe(matching(got, expected, candidates))
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
