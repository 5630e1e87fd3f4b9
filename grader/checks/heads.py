"""Checks of how features are cut into heads and joined again."""

from functools import partial

from torch import Tensor

from grader.checks.tensors import assert_tensor, is_close, show, shown_inputs
from grader.diagnosis import describe, matching
from grader.errors import CheckFailure
from grader.student import Definition
from reference import merge_heads, split_heads
from reference.misconceptions import MERGE_MUTANTS, SPLIT_MUTANTS


def assert_split(split: Definition, x: Tensor, n_heads: int) -> None:
    """See that `split_heads` gives head h of token t its features h·d_k to (h+1)·d_k - 1.

    Args:
        split: the submission's function.
        x: (B, T, D)
        n_heads: H.
    """
    expected = split_heads(x, n_heads)
    got = assert_tensor(split(x, n_heads), expected.shape, "The result")
    if not is_close(got, expected):
        candidates = {name: partial(mutant, x, n_heads) for name, mutant in SPLIT_MUTANTS.items()}
        misconception, sentence = describe(matching(got, expected, candidates.items()))
        raise CheckFailure(
            f"The features are not where they belong. {sentence or ''}".strip(),
            show(expected),
            show(got),
            shown_inputs(x=x, n_heads=n_heads),
            misconception,
        )


def assert_merge(merge: Definition, x: Tensor) -> None:
    """See that `merge_heads` puts the heads of a token side by side.

    Args:
        merge: the submission's function.
        x: (B, H, T, d_k)
    """
    expected = merge_heads(x)
    got = assert_tensor(merge(x), expected.shape, "The result")
    if not is_close(got, expected):
        candidates = {name: partial(mutant, x) for name, mutant in MERGE_MUTANTS.items()}
        misconception, sentence = describe(matching(got, expected, candidates.items()))
        raise CheckFailure(
            f"The features are not where they belong. {sentence or ''}".strip(),
            show(expected),
            show(got),
            shown_inputs(x=x),
            misconception,
        )
