"""Arguments that are left out, that go by name first, and values that can travel."""

import functools

import pytest
import torch
from torch import nn

from grader.worker.binding import OMITTED, Unbound, bind
from grader.worker.runtime import Runtime, listed

NAMES = [["d_model"], ["n_heads", "heads"], ["dropout", "p_drop"], ["max_len"]]


def called(target, *values, keywords=(), names=NAMES):
    return bind(target, names[: len(values)], list(values), keywords)()


class Model:
    def __init__(self, d_model, n_heads, dropout=0.1, max_len=50):
        self.got = (d_model, n_heads, dropout, max_len)


@pytest.mark.parametrize(
    ("target", "got"),
    [
        (lambda d_model, n_heads, dropout=0.1, max_len=50: (d_model, n_heads, dropout, max_len),
         (1, 2, 0.1, 9)),
        (lambda a, b, c=0.1, d=50: (a, b, c, d), (1, 2, 0.1, 9)),
        (lambda a, b, c=0.1, *, max_len=50: (a, b, c, max_len), (1, 2, 0.1, 9)),
        (lambda a, b, c=0.1, d=50, *, more=0: (a, b, c, d, more), (1, 2, 0.1, 9, 0)),
        (lambda *, d_model, n_heads, dropout=0.1, max_len=50: (d_model, n_heads, dropout, max_len),
         (1, 2, 0.1, 9)),
        (lambda *args, max_len=50, dropout=0.1: (*args, dropout, max_len), (1, 2, 0.1, 9)),
        (lambda a, b, **more: (a, b, more.get("dropout", 0.1), more["max_len"]), (1, 2, 0.1, 9)),
        (lambda *args: args, (1, 2, 9)),
    ],
)  # fmt: skip
def test_an_omitted_argument_keeps_its_default_and_the_later_ones_their_place(target, got):
    assert called(target, 1, 2, OMITTED, 9) == got


def test_an_omitted_argument_of_a_class_keeps_its_default():
    assert called(Model, 1, 2, OMITTED, 9).got == (1, 2, 0.1, 9)
    assert called(Model, 1, 2, OMITTED, OMITTED).got == (1, 2, 0.1, 50)


@pytest.mark.parametrize("place", range(4))
def test_any_argument_may_be_omitted_though_no_name_is_known(place):
    values = [OMITTED if index == place else index for index in range(4)]
    got = called(lambda w="w", x="x", y="y", z="z": [w, x, y, z], *values)
    assert got == ["wxyz"[index] if index == place else index for index in range(4)]


def test_an_omitted_argument_is_not_none():
    assert called(lambda a=1, b=2: (a, b), OMITTED, None, names=[["a"], ["b"]]) == (1, None)


@pytest.mark.parametrize("target", [lambda a: a, lambda *args: args[0], lambda a, **more: a])
def test_an_omitted_argument_without_a_place_is_no_error(target):
    assert called(target, 1, OMITTED, OMITTED, OMITTED) == 1


def test_an_omitted_argument_that_must_be_given_is_told_by_its_name():
    with pytest.raises(Unbound, match="requires `c`"):
        called(lambda a, b, c, d: None, 1, 2, OMITTED, 9)
    with pytest.raises(Unbound, match="requires `p_drop`"):
        called(lambda a, b, p_drop: None, 1, 2, OMITTED)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of torch.jit itself
def test_an_omitted_argument_of_a_scripted_function_is_left_out():
    @torch.jit.script
    def scaled(a, factor: float = 3.0):
        return a * factor

    assert float(called(scaled, torch.ones(()), OMITTED)) == 3


BY_NAME = (False, False, True, True)


@pytest.mark.parametrize(
    "target",
    [
        lambda d_model, n_heads, dropout=0.1, max_len=50: (d_model, n_heads, dropout, max_len),
        lambda d_model, n_heads, max_len=50, dropout=0.1: (d_model, n_heads, dropout, max_len),
        lambda max_len, d_model, n_heads, dropout=0.1: (d_model, n_heads, dropout, max_len),
        lambda d_model, p_drop, heads, max_len=50: (d_model, heads, p_drop, max_len),
        lambda a, b, *, dropout=0.1, max_len=50: (a, b, dropout, max_len),
        lambda a, b, **more: (a, b, more["dropout"], more["max_len"]),
        lambda a, b, c, d: (a, b, c, d),
    ],
)
def test_an_argument_that_goes_by_name_is_found_wherever_it_stands(target):
    if target.__code__.co_varnames[0] == "max_len":
        names = (True, True, True, True)
    else:
        names = BY_NAME if target.__code__.co_varnames[1] != "p_drop" else (False, True, True, True)
    assert called(target, 1, 2, 0.5, 9, keywords=names) == (1, 2, 0.5, 9)


def test_a_name_goes_first_only_where_it_is_said_so():
    def swapped(dropout, max_len):
        return dropout, max_len

    names = [["max_len"], ["dropout"]]
    assert bind(swapped, names, [9, 0.5])() == (9, 0.5)
    assert bind(swapped, names, [9, 0.5], [True, True])() == (0.5, 9)


def test_positional_arguments_go_around_those_that_go_by_name():
    def train(model, epochs, input_ids, lr_max=0.1):
        return model, input_ids, epochs, lr_max

    names = [["model"], ["input_ids"], ["epochs"], ["lr_max"]]
    got = bind(train, names, ["m", "x", 50, 0.5], [False, False, True, True])()
    assert got == ("m", "x", 50, 0.5)


@pytest.mark.parametrize(
    "target",
    [
        lambda max_len=50, dropout=0.1: (max_len, dropout),
        lambda max_len=50, dropout=0.1, pad_id=0: (max_len, dropout) if pad_id == 0 else "pad_id",
    ],
    ids=["not there", "further back"],
)
def test_an_omitted_argument_takes_no_place_that_another_one_names(target):
    names = [["max_len"], ["pad_id"], ["dropout"]]
    assert bind(target, names, [9, OMITTED, 0.5])() == (9, 0.5)


def test_an_omitted_argument_that_goes_by_name_frees_no_place_for_others():
    def target(a, b, max_len=50, dropout=0.1):
        return a, b, dropout, max_len

    assert called(target, 1, 2, OMITTED, 9, keywords=BY_NAME) == (1, 2, 0.1, 9)
    assert called(target, 1, 2, 0.5, OMITTED, keywords=BY_NAME) == (1, 2, 0.5, 50)


def test_a_partial_keeps_what_it_has_and_takes_the_rest():
    target = functools.partial(lambda a, b, c=0, d=50: (a, b, c, d), c=7)
    assert called(target, 1, 2, OMITTED, OMITTED) == (1, 2, 7, 50)


# what travels


def test_iterators_views_and_sets_become_lists():
    assert listed(iter([1, 2])) == [1, 2]
    assert listed(n * n for n in range(3)) == [0, 1, 4]
    assert listed({"a": 1}.keys()) == ["a"]
    assert listed({3}) == [3]
    assert listed((1, 2)) == [1, 2]
    assert listed([{"params": iter([1]), "lr": 0.1}]) == [{"params": [1], "lr": 0.1}]
    assert listed(map(str, [1])) == ["1"]


def test_parameters_of_a_group_become_a_list_of_the_same_tensors():
    model = nn.Linear(2, 2)
    (group,) = listed([{"params": model.parameters(), "weight_decay": 0.1}])
    assert [p is q for p, q in zip(group["params"], model.parameters(), strict=True)] == [True] * 2


@pytest.mark.parametrize("value", ["text", b"bytes", 3, None, 0.5])
def test_a_single_value_is_left_alone(value):
    assert listed(value) == value


def test_a_tensor_and_a_module_are_left_alone():
    tensor, stack = torch.zeros(2, 2), nn.Sequential(nn.ReLU())
    assert listed(tensor) is tensor
    assert listed([stack])[0] is stack


def test_an_endless_iterator_ends():
    def endless():
        while True:
            yield 1

    assert len(listed(endless())) == 10_000


def test_what_is_nested_without_end_ends():
    inner = []
    inner.append(inner)
    assert isinstance(listed(inner), list)


# equal positions


class WithTables(nn.Module):
    def __init__(self):
        super().__init__()
        self.plain = torch.randn(9, 4)
        self.register_buffer("buffered", torch.randn(1, 9, 4))
        self.frozen = nn.Parameter(torch.randn(9, 1, 4), requires_grad=False)
        self.trained = nn.Parameter(torch.randn(9, 4))
        self.short, self.wide, self.vector = torch.randn(8, 4), torch.randn(9, 5), torch.randn(4)
        self.inner = nn.Module()
        self.inner.register_buffer("table", torch.randn(9, 4))


def levelled(model, modules=()):
    runtime = Runtime(channel=None)
    runtime._modules = list(modules)
    runtime._equal_positions({"target": model, "width": 4, "length": 9, "function": "encode"})


def equal_rows(table):
    rows = table.detach().reshape(-1, table.shape[-1])
    return torch.equal(rows, rows[:1].expand_as(rows))


def test_every_table_of_positions_that_is_not_trained_is_levelled():
    model = WithTables()
    first = {name: getattr(model, name).detach().flatten()[:4].clone() for name in
             ("plain", "buffered", "frozen")}  # fmt: skip
    levelled(model)
    for name, row in first.items():
        assert equal_rows(getattr(model, name))
        assert torch.equal(getattr(model, name).flatten()[:4], row)
    assert equal_rows(model.inner.table)


def test_what_is_no_table_of_positions_stays():
    model = WithTables()
    names = ("trained", "short", "wide", "vector")
    before = {name: getattr(model, name).detach().clone() for name in names}
    levelled(model)
    assert all(torch.equal(getattr(model, name), value) for name, value in before.items())


def test_the_function_that_makes_tables_gives_level_ones_from_then_on():
    module = type("Module", (), {})()
    module.encode = lambda length, width: torch.randn(length, width)
    levelled(WithTables(), [module])
    assert equal_rows(module.encode(6, 4))
    assert module.encode(6, 4).shape == (6, 4)
    assert not equal_rows(module.encode(6, 5))
