"""The table of steps in a failure."""

from types import SimpleNamespace

import pytest
import torch

from grader.checks.explain import NOT_TRACED, with_steps
from grader.diagnosis.steps import Step
from grader.errors import CheckFailure, Frame
from grader.student import CallResult, Event

STEPS = [Step("doubled", torch.tensor([2.0, 4.0])), Step("summed", torch.tensor([6.0, 7.0]))]


@pytest.fixture
def target():
    return SimpleNamespace(place=lambda frame: f"{frame.file}, line {frame.line}")


def explained(target, *events):
    traced = CallResult(None, [], events=[Event(value, frame) for value, frame in events])
    return with_steps(CheckFailure("wrong"), target, STEPS, traced)


def test_without_an_event_on_a_line_of_the_students_it_says_so(target):
    assert explained(target).steps == NOT_TRACED
    assert explained(target, (torch.tensor([2.0, 4.0]), None)).steps == NOT_TRACED
    assert explained(target).reached is None


def test_the_place_of_a_failure_is_the_line_that_leaves_the_recipe(target):
    first, second = Frame("m.py", 3, "f"), Frame("m.py", 5, "f")
    failure = explained(
        target, (torch.tensor([2.0, 4.0]), first), (torch.tensor([8.0, 9.0]), second)
    )
    assert failure.frames == (second,)
    assert failure.steps.splitlines() == [
        "Steps of the recipe in your code (m.py):",
        "  ✓ doubled: line 3",
        "  ✗ summed: not found; it should come after line 3; line 5 computes something else",
    ]


def test_files_are_named_where_there_are_several(target):
    failure = explained(
        target,
        (torch.tensor([2.0, 4.0]), Frame("a.py", 3, "f")),
        (torch.tensor([8.0, 9.0]), Frame("b.py", 5, "g")),
    )
    assert "✓ doubled: a.py, line 3" in failure.steps
    assert "b.py, line 5 computes something else" in failure.steps
