"""A module tells its parameters when it is made; they are asked for again once anything ran."""

import pytest
import torch

from grader.errors import StudentRaised
from grader.intake import read
from grader.student import Session, Student

SOURCE = """
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.frozen = nn.Parameter(torch.rand(3), requires_grad=False)
        self.weight = nn.Parameter(torch.rand(d_model, d_model))
        self.n_heads = n_heads
        if n_heads == 8:
            self.later = nn.UninitializedParameter()
        every.append(self)

    def forward(self, query, key, value, mask=None):
        with torch.no_grad():
            every[0].weight.add_(1)
        return query

    def named_parameters(self, *args, **kwargs):
        if self.n_heads == 7:
            raise ValueError("no parameters for seven")
        return super().named_parameters(*args, **kwargs)


every = []
"""


@pytest.fixture
def session(assignment, launcher):
    session = Session(read({"a.py": SOURCE.encode()}, "a.py"), assignment, launcher)
    session.begin_check(None)
    session.seed(1)
    yield session
    session.end()


@pytest.fixture
def asked(session, monkeypatch):
    """The operations that the worker was asked for."""
    operations = []
    session.require("MultiHeadAttention")
    request = session._worker.request

    def note(operation, *args):
        operations.append(operation)
        return request(operation, *args)

    monkeypatch.setattr(session._worker, "request", note)
    return operations


def make(session, d_model=4, n_heads=2):
    return Student(session).MultiHeadAttention(d_model, n_heads)


def test_a_module_that_was_just_made_is_not_asked(session, asked):
    layer = make(session)
    told = layer.parameters()
    assert asked == ["call"]
    assert [(name, p.requires_grad) for name, p in told.items()] == [
        ("frozen", False), ("weight", True),
    ]  # fmt: skip
    layer.eval()
    again = layer.parameters()
    assert asked == ["call", "mode", "parameters"]
    assert all(torch.equal(told[name].value, again[name].value) for name in told)


def test_seeds_do_not_depend_on_who_was_asked(session, asked):
    before = session._seed
    make(session).parameters()
    assert session._seed == before + 2
    assert asked == ["call"]


def test_what_ran_since_may_have_changed_them(session, asked):
    layer = make(session)
    before = layer.parameters()["weight"].value
    other = make(session)
    other(*torch.zeros(3, 1, 2, 4))
    assert torch.allclose(layer.parameters()["weight"].value, before + 1)
    layer.set_parameters({"weight": torch.zeros(4, 4)})
    assert not layer.parameters()["weight"].value.any()
    assert asked.count("parameters") == 2


def test_many_parameters_are_sent_only_when_asked_for(session, asked):
    layer = make(session, d_model=300)
    assert layer.parameters()["weight"].value.shape == (300, 300)
    assert asked == ["call", "parameters"]


def test_parameters_of_an_odd_kind_are_sent_only_when_asked_for(session, asked):
    layer = make(session, n_heads=8)
    assert asked == ["call"]
    with pytest.raises(StudentRaised):
        layer.parameters()
    assert asked == ["call", "parameters"]


def test_a_module_that_cannot_tell_is_made_all_the_same(session, asked):
    layer = make(session, n_heads=7)
    with pytest.raises(StudentRaised, match="no parameters for seven"):
        layer.parameters()
    assert asked == ["call", "parameters"]
