"""A layer whose packed vectors are shown one by one."""

import pytest
import torch

from grader.checks.parameters import built
from grader.checks.unpacked import Unpacked
from grader.intake import read
from grader.student import Session, Student

SOURCE = """
import torch
from torch import nn


class MultiHeadAttention(nn.Module):
    def __init__(self, d_model, n_heads):
        super().__init__()
        self.gains = nn.Parameter(torch.ones(3, d_model))
        self.shift = nn.Parameter(torch.zeros(1, 1, d_model))
        self.weight = nn.Parameter(torch.zeros(d_model, d_model))
        self.few = nn.Parameter(torch.rand(2, d_model))

    def forward(self, query, key, value, mask=None):
        return (query @ self.weight * self.gains[1] + self.shift) * self.few.sum()
"""


@pytest.fixture
def layer(assignment, launcher):
    session = Session(read({"a.py": SOURCE.encode()}, "a.py"), assignment, launcher)
    session.begin_check(None)
    yield Unpacked(built(Student(session).MultiHeadAttention, d_model=4, n_heads=2), 4)
    session.end()


def test_several_gains_in_one_parameter_are_shown_one_by_one(layer):
    shapes = {name: tuple(p.value.shape) for name, p in layer.parameters().items()}
    assert shapes == {
        "gains[0]": (4,), "gains[1]": (4,), "gains[2]": (4,),
        "shift": (4,), "weight": (4, 4), "few": (2, 4),
    }  # fmt: skip
    assert layer.is_packed


def test_what_is_set_by_the_shown_names_arrives(layer):
    values = {name: torch.rand_like(p.value) for name, p in layer.parameters().items()}
    layer.set_parameters(values)
    found = {name: p.value for name, p in layer.parameters().items()}
    assert found.keys() == values.keys()
    assert all(torch.equal(found[name], value) for name, value in values.items())
    x = torch.rand(1, 2, 4)
    expected = (x @ values["weight"] * values["gains[1]"] + values["shift"]) * values["few"].sum()
    assert torch.allclose(layer(x, x, x), expected, atol=1e-6)


def test_gradients_come_by_the_shown_names(layer):
    x = torch.rand(1, 2, 4)
    layer.set_parameters({"weight": torch.eye(4)})
    gradients = layer.call(x, x, x, probe=torch.ones(1, 2, 4)).parameter_gradients
    assert gradients.keys() == layer.parameters().keys()
    assert not bool(gradients["gains[0]"].any())
    assert bool(gradients["gains[1]"].any())
    assert gradients["shift"].shape == (4,)
