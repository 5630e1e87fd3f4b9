"""Binding arguments: by position, and by name where position cannot tell."""

import functools

import pytest
import torch
from torch import nn

from grader.worker.binding import Unbound, bind, matches
from grader.worker.runtime import first_of_shape

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
        lambda q, k, attention_mask=None, mask=None: (q, k, mask if attention_mask is None else 0),
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


@pytest.mark.parametrize(
    ("target", "argument"),
    [
        (lambda a, b: None, "mask"),
        (lambda query, key: None, "mask"),
        (lambda x, mask=None: None, "key"),
        (lambda x: None, "key"),
    ],
)
def test_an_argument_without_a_place_is_told_by_the_assignments_name(target, argument):
    with pytest.raises(Unbound, match=f"takes no argument for `{argument}`"):
        called(target, 1, 2, 3)


@pytest.mark.parametrize(
    ("target", "parameter"),
    [
        (lambda a, b, c, d: None, "d"),
        (lambda query, key, scale, mask: None, "scale"),
        (lambda query, key, mask=None, *, scale: None, "scale"),
    ],
)
def test_a_parameter_that_the_assignment_does_not_pass_is_told_by_its_name(target, parameter):
    with pytest.raises(Unbound, match=f"requires `{parameter}`, which the assignment does not"):
        called(target, 1, 2, 3)


def test_the_same_holds_for_constructors_and_for_modules():
    class Wide(nn.Module):
        def __init__(self, a, b, c, d):
            super().__init__()

        def forward(self, query, key, mask, scale):
            return None

    with pytest.raises(Unbound, match="requires `d`"):
        called(Wide, 1, 2, 3)
    with pytest.raises(Unbound, match="requires `scale`"):
        called(Wide(1, 2, 3, 4), 1, 2, 3)


def test_a_wrapper_that_fills_in_what_the_signature_requires_is_called():
    def scaled(query, key, mask, scale):
        return query, key, mask, scale

    @functools.wraps(scaled)
    def wrapper(*args):
        return scaled(*args, 4)

    assert called(wrapper, 1, 2, 3) == (1, 2, 3, 4)


def test_a_type_error_inside_the_students_code_stays_its_own():
    code = compile("def attend(a, b, c, d=0):\n    return a + ''\n", "/submission/a.py", "exec")
    namespace = {}
    exec(code, namespace)
    with pytest.raises(TypeError, match="unsupported operand") as raised:
        called(namespace["attend"], 1, 2, 3)
    assert not isinstance(raised.value, Unbound)


@pytest.mark.parametrize(
    ("parameters", "names", "found"),
    [
        (["key", "query"], [["query"], ["key"]], [1, 0]),
        (["K", "_q"], [["query", "q"], ["key", "k"]], [1, 0]),
        (["a", "b"], [["query"], ["key"]], [None, None]),
        (["dim", "hidden"], [["d_model", "dim", "hidden"], ["d_ff", "hidden"]], [0, 1]),
        (["hidden", "ff"], [["d_model", "dim", "hidden"], ["d_ff", "ff", "hidden"]], [0, 1]),
        (["x", "h"], [["h", "x"], ["x", "h"]], [1, 0]),
    ],
)
def test_a_parameter_names_one_argument_its_own_name_before_synonyms(parameters, names, found):
    assert matches(parameters, names) == found


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


def test_a_call_that_is_bound_again_takes_its_own_values():
    for a, b, mask in ((1, 2, 3), (4, 5, 6), (7, 8, None)):
        assert called(further_before, a, b, mask) == (a, b, mask)
        assert called(Layer(), a, b, mask) == (a, b, mask)


def test_what_is_bound_again_may_have_changed():
    layer = Layer()
    assert called(layer, 1, 2, 3) == (1, 2, 3)
    layer.forward = lambda mask, query, key: (mask, query, key)
    assert called(layer, 1, 2, 3) == (1, 2, 3)

    class Other(Layer):
        def forward(self, a, dropout=0.0, b=None, *, mask=None):
            return a, b, dropout, mask

    layer = Layer()
    assert called(layer, 1, 2, 3) == (1, 2, 3)
    layer.__class__ = Other
    assert called(layer, 1, 2, 3) == (1, None, 2, 3)


def test_a_class_that_gets_another_constructor_is_bound_anew():
    class Made:
        def __init__(self, query, key, mask=None):
            self.got = query, key, mask

    assert called(Made, 1, 2, 3).got == (1, 2, 3)

    def begin(self, key, query, dropout=0.0, mask=None):
        self.got = query, key, mask

    Made.__init__ = begin
    assert called(Made, 1, 2, 3).got == (2, 1, 3)
