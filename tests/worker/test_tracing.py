"""Which tensors a call computes, and at which line of the student's."""

import pytest
import torch

from grader.intake import read
from grader.student import Session, Student
from grader.worker.tracing import MAX_ELEMENTS, MAX_EVENTS

SOURCE = """\
import torch

def helper(x):
    return x * 2

def split_heads(x, n_heads):
    y = helper(x)
    y.add_(1)
    for _ in range(n_heads):
        y = y + 1
    return y
"""


@pytest.fixture
def split(assignment, launcher):
    session = Session(read({"a.py": SOURCE.encode()}, "a.py"), assignment, launcher)
    session.begin_check(None)
    yield Student(session).split_heads
    session.end()


def test_each_tensor_comes_with_the_innermost_line(split):
    x = torch.tensor([1.0, 2.0])
    events = split.call(x, 2, trace=True).events
    assert [(event.frame.line, event.frame.function) for event in events] == [
        (4, "helper"), (8, "split_heads"), (10, "split_heads"), (10, "split_heads"),
    ]  # fmt: skip
    assert events[0].frame.file == "a.py"


def test_a_tensor_that_is_changed_later_is_recorded_as_it_was(split):
    events = split.call(torch.tensor([1.0, 2.0]), 0, trace=True).events
    assert [event.value.tolist() for event in events] == [[2.0, 4.0], [3.0, 5.0]]


def test_without_asking_nothing_is_recorded(split):
    assert split.call(torch.ones(2), 1).events is None


def test_long_traces_and_large_tensors_are_cut(split):
    assert len(split.call(torch.ones(1), MAX_EVENTS + 9, trace=True).events) == MAX_EVENTS
    assert split.call(torch.ones(MAX_ELEMENTS + 1), 2, trace=True).events == []
