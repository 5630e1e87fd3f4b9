"""What it means when code raises is told by what it does not raise on."""

import pytest
import torch

from grader.checks.raised import fails_unlike, lengths_differ, raises_unlike
from grader.checks.repeated import unless_random
from grader.errors import CheckFailure, StudentRaised


def raising(text="no"):
    raise StudentRaised("RuntimeError", text)


def named(manager, text="no"):
    with pytest.raises(StudentRaised) as caught, manager:
        raising(text)
    return caught.value.misconception


def test_a_call_that_runs_tells_why_the_other_raises():
    assert named(raises_unlike("mask-required", lambda: None)) == "mask-required"


def test_nothing_is_told_when_the_other_raises_too():
    assert named(raises_unlike("mask-required", raising)) is None


def test_the_innermost_explanation_counts():
    with (
        pytest.raises(StudentRaised) as caught,
        raises_unlike("mask-shape", lambda: None),
        raises_unlike("mask-on-heads", lambda: None),
    ):
        raising()
    assert caught.value.misconception == "mask-on-heads"


def test_nothing_happens_where_nothing_raises():
    with raises_unlike("mask-required", raising), lengths_differ(1, 2):
        pass


SHAPE = "shape '[2, 3, 2, 4]' is invalid for input of size {}"


@pytest.mark.parametrize(
    ("text", "causal", "name"),
    [
        (SHAPE.format(80), None, "cross-length-of-query"),  # the keys were to be reshaped
        (SHAPE.format(48), None, "query-length-of-memory"),
        ("The size of tensor a (3) must match", lambda: True, "decoder-cross-causal"),
        ("The size of tensor a (3) must match", lambda: False, "cross-length-of-query"),
    ],
)
def test_lengths_that_differ_are_told_by_what_was_to_be_reshaped(text, causal, name):
    assert named(lengths_differ(48, 80, causal), text) == name


def test_checks_that_pass_tell_why_others_fail():
    for other, name in ((lambda: None, "mask-shape"), (raising, None)):
        with pytest.raises(CheckFailure) as caught, fails_unlike("mask-shape", other):
            raise CheckFailure("no")
        assert caught.value.misconception == name


def test_a_name_that_is_known_already_is_kept():
    with pytest.raises(CheckFailure) as caught, fails_unlike("mask-shape", lambda: None):
        raise CheckFailure("no", misconception="mask-inverted")
    assert caught.value.misconception == "mask-inverted"


def test_outputs_that_change_anyway_are_random():
    numbers = iter(range(10))
    assert unless_random("batch-mixed", lambda: torch.full((2,), float(next(numbers)))) == (
        "dropout-in-eval"
    )
    assert unless_random("batch-mixed", lambda: torch.full((2,), float("nan"))) == "batch-mixed"
