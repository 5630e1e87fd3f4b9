"""Binding arguments: by position, and by name where position cannot tell."""

import functools

import pytest
import torch
from torch import nn

from grader.worker.runtime import bind, first_of_shape

ARGUMENTS = [["query", "q"], ["key", "k"], ["mask", "attn_mask"]]


def called(target, *values):
    return bind(target, ARGUMENTS, list(values))()


class Layer(nn.Module):
    def forward(self, a, b, attn_mask=None):
        return a, b, attn_mask


def keyword_only(*, q, k, mask=None):
    return q, k, mask


def further_before(q, k, dropout=0.0, mask=None):
    return (q, k, mask) if dropout == 0.0 else "dropout was given"


def positional_only(a, b, c=None, /):
    return a, b, c


def original(query, key, mask=None):
    return None


@functools.wraps(original)
def wrapped(x, y, z=None):
    return x, y, z


@pytest.mark.parametrize(
    "target",
    [
        lambda a, b, c: (a, b, c),
        lambda a, b, c=None: (a, b, c),
        lambda *args: args,
        lambda a, b, c=None, **more: (a, b, c),
        lambda query, key, **more: (query, key, more.get("mask")),
        Layer(),
        keyword_only,
        further_before,
        positional_only,
        functools.partial(lambda scale, a, b, c=None: (a, b, c), 2),
        lambda a, b, c=None, *, further=1: (a, b, c),
        lambda *args, mask=None: (*args, mask),
        wrapped,
    ],
)
def test_each_argument_arrives_at_its_place(target):
    assert called(target, 1, 2, 3) == (1, 2, 3)


@pytest.mark.parametrize(
    "target", [lambda a, b: (a, b), lambda a, b, dropout=0.5: (a, b), lambda *args: args[:2]]
)
def test_none_without_a_place_is_left_out(target):
    assert called(target, 1, 2, None) == (1, 2)


def test_none_reaches_a_parameter_that_must_be_given():
    assert called(lambda a, b, c: (a, b, c), 1, 2, None) == (1, 2, None)


def test_swapped_names_stay_swapped_because_position_counts():
    assert called(lambda key, query, mask=None: (key, query), 1, 2, None) == (1, 2)


def test_an_argument_without_a_place_is_an_error():
    with pytest.raises(TypeError, match="no argument for mask"):
        called(lambda a, b: (a, b), 1, 2, 3)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch.jit itself
def test_a_scripted_function_is_called_by_position():
    @torch.jit.script
    def add(a, b):
        return a + b

    assert float(called(add, torch.ones(()), torch.ones(()), None)) == 2


def test_the_output_is_the_first_tensor_of_its_shape():
    small, large = torch.zeros(2), torch.ones(3)
    assert first_of_shape((small, {"x": large}), torch.Size([3])) is large
    assert first_of_shape([small], torch.Size([3])) is None
