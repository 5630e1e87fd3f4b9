"""Shrinking an input on which something fails, and the code that shows it."""

import pytest
import torch

from grader.checks.smallest import MAX_TRIES, Axis, pasteable, smallest
from grader.errors import StudentRaised

AXES = (Axis({"x": -3, "mask": -2}), Axis({"x": -2, "mask": -1}), Axis({"x": -1}))


@pytest.fixture
def inputs():
    mask = torch.zeros(3, 5, dtype=torch.bool)
    return {"x": torch.randn(3, 5, 4), "mask": mask, "none": None}


def test_each_size_is_cut_to_the_least_that_still_fails(inputs):
    found = smallest(inputs, AXES, lambda given: given["x"].shape[1] >= 2)
    assert found["x"].shape == (1, 2, 1)
    assert found["mask"].shape == (1, 2)
    assert found["none"] is None


def test_what_fails_at_the_end_only_is_cut_from_the_front(inputs):
    last = inputs["x"][-1]
    found = smallest(inputs, AXES[:1], lambda given: bool((given["x"] == last).all(-1).any()))
    assert torch.equal(found["x"], last[None])


def test_numbers_are_as_round_as_still_fails(inputs):
    inputs["x"] = torch.full((3, 5, 4), 1.23456)
    found = smallest(inputs, AXES, lambda given: bool(given["x"].abs().max() > 0))
    assert torch.equal(found["x"], found["x"].round())


def test_numbers_are_not_rounded_to_nothing(inputs):
    inputs["x"] = torch.full((3, 5, 4), 0.123)
    found = smallest(inputs, AXES, lambda _: True)
    assert torch.equal(found["x"], torch.full((1, 1, 1), 0.1))


def test_numbers_stay_as_they_are_where_rounding_hides_the_failure(inputs):
    inputs["x"] = torch.full((1, 1, 1), 0.12345)
    found = smallest(inputs, AXES, lambda given: float(given["x"]) == float(inputs["x"]))
    assert torch.equal(found["x"], inputs["x"])


def test_leading_dimensions_are_left_out_only_where_asked_for(inputs):
    inputs = {"x": inputs["x"]}
    assert smallest(inputs, AXES, lambda _: True)["x"].dim() == 3
    assert smallest(inputs, AXES, lambda _: True, flatten=True)["x"].dim() == 2


def test_an_exception_of_the_students_is_another_failure(inputs):
    def fails(given):
        if given["x"].shape[0] < 3:
            raise StudentRaised("IndexError", "out of range", ())
        return True

    assert smallest(inputs, AXES, fails)["x"].shape[0] == 3


def test_the_students_code_is_called_a_bounded_number_of_times():
    calls = []

    def fails(given):
        calls.append(given)
        return False

    axes = tuple(Axis({"x": -dim}) for dim in range(1, 30))
    smallest({"x": torch.zeros(*(1,) * 0, *(2,) * 20)}, axes, fails)
    assert 0 < len(calls) <= MAX_TRIES


@pytest.mark.parametrize(
    "value",
    [
        torch.tensor([[1.5, -2.0], [0.1, 3.0]]),
        torch.tensor([True, False]),
        torch.tensor([[1, 0, 2]]),
        torch.tensor(0.25),
        torch.ones(2, 2, dtype=torch.float64),
    ],
)
def test_what_is_printed_makes_the_same_tensor_again(value):
    (line,) = pasteable({"value": value})
    scope = {"torch": torch}
    exec(line, scope)
    assert scope["value"].dtype == value.dtype
    assert torch.equal(scope["value"], value)


def test_a_tensor_of_many_numbers_is_described():
    (line,) = pasteable({"value": torch.zeros(10, 20)})
    assert line == "# value: torch.float32, shape (10, 20)"
