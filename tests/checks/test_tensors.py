"""Comparing tensors: form first, so that nothing broadcasts into agreement."""

import pytest
import torch

from grader.checks.tensors import assert_close, assert_tensor, means, same_inputs, show
from grader.errors import CheckFailure, StudentRaised
from grader.worker.answers import Foreign

EXPECTED = torch.tensor([[1.0, 2.0]])


@pytest.mark.parametrize(
    "got",
    [
        torch.empty(0, 2),
        torch.tensor(1.0),
        torch.tensor([1.0, 2.0]),
        torch.tensor([[1.0, 2.0]], dtype=torch.float64),
        torch.tensor([[1, 2]]),
        torch.tensor([[1.0, float("nan")]]),
        torch.tensor([[1.0, float("inf")]]),
        torch.tensor([[1.0, 2.01]]),
        [[1.0, 2.0]],
        None,
        Foreign("numpy.ndarray", "array([[1., 2.]])"),
    ],
)
def test_only_the_right_tensor_is_close(got):
    with pytest.raises(CheckFailure) as info:
        assert_close(got, EXPECTED, "It")
    assert info.value.expected
    assert info.value.got


def test_rounding_is_no_difference():
    assert_close(EXPECTED + 1e-6, EXPECTED, "It")


def test_infinity_is_never_right():
    infinite = torch.tensor([float("inf")])
    with pytest.raises(CheckFailure, match="infinite"):
        assert_close(infinite, infinite, "It")


def test_a_lost_axis_is_named():
    with pytest.raises(CheckFailure) as info:
        assert_tensor(torch.zeros(3, 4), (1, 3, 4), "It")
    assert info.value.misconception == "axis-squeezed"


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (torch.tensor([[1.0, -0.5]]), "[[1.0000, -0.5000]]"),
        (torch.tensor(True), "True"),
        (
            torch.zeros(100),
            "shape (100,), begins [0.0000, 0.0000, 0.0000, 0.0000, 0.0000, 0.0000, …]",
        ),
        ((1, None), "(1, None)"),
    ],
)
def test_values_are_shown_in_short(value, text):
    assert show(value) == text


@pytest.mark.parametrize(
    "after", [torch.ones(2), torch.zeros(3), torch.zeros(2).double(), None, "x"]
)
def test_changed_inputs_are_found(after):
    with pytest.raises(CheckFailure) as info:
        same_inputs([after], [torch.zeros(2)], ["x"])
    assert info.value.misconception == "input-modified"


def test_unchanged_inputs_and_none_are_fine():
    same_inputs([torch.zeros(2), None], [torch.zeros(2), None], ["x", "mask"])


def test_a_check_says_what_a_failure_means_unless_it_is_known_better():
    with pytest.raises(CheckFailure) as failed, means("general"):
        raise CheckFailure("x", misconception="exact")
    assert failed.value.misconception == "exact"
    with pytest.raises(StudentRaised) as raised, means("general"):
        raise StudentRaised("TypeError", "x")
    assert raised.value.misconception == "general"
    with pytest.raises(CheckFailure) as other, means("general", raised_only=True):
        raise CheckFailure("x")
    assert other.value.misconception is None
