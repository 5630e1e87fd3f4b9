"""How far a traced computation follows the recipe."""

import math
from dataclasses import dataclass
from fractions import Fraction

import pytest
import torch
from torch import Tensor

from grader.diagnosis.recipes import attention_steps, layer_steps
from grader.diagnosis.steps import Step, step_table
from grader.errors import Frame


@dataclass
class Computed:
    value: Tensor
    frame: Frame | None


def computed(*values):
    """Events, the first on line 1, the second on line 2, …"""
    return [
        Computed(value, Frame("m.py", number, "f")) for number, value in enumerate(values, start=1)
    ]


@pytest.fixture
def inputs():
    return torch.randn(2, 2, 3, 4), torch.randn(2, 2, 5, 4), torch.randn(2, 2, 5, 6)


@pytest.fixture
def recipe(inputs):
    return attention_steps(*inputs, None)


def lines(table):
    return [row.frame.line if row.frame else None for row in table.rows]


def test_every_step_of_right_code_is_found_at_its_line(recipe):
    table = step_table(recipe, computed(*(step.value for step in recipe)))
    assert lines(table) == [1, 2, 3, 4]
    assert table.reached == 4
    assert table.share == Fraction(4, 5)  # what is returned is a step too


def test_a_step_is_found_in_any_shape_and_order(recipe):
    scores, scaled, weights, output = (step.value for step in recipe)
    table = step_table(
        recipe,
        computed(
            scores.transpose(1, 3).contiguous(),
            scaled.flatten(),
            weights.double().flip(0),
            output.permute(2, 0, 1, 3),
        ),
    )
    assert table.reached == 4


def test_a_step_is_found_in_parts_one_head_or_one_query_at_a_time(recipe):
    scores, scaled, weights, output = (step.value for step in recipe)
    heads = [x[:, head] for x in (scores, scaled, weights) for head in range(2)]
    rows = [output[b, h, t] for b in range(2) for h in range(2) for t in range(3)]
    assert step_table(recipe, computed(*heads, *rows)).reached == 4


def test_a_part_alone_is_not_the_step(recipe):
    scores = recipe[0].value
    assert step_table(recipe, computed(scores[:, :1])).reached == 0


def test_a_step_that_is_done_together_with_a_later_one_counts(recipe):
    table = step_table(recipe, computed(*(step.value for step in recipe[1:])))
    assert not table.rows[0].found
    assert table.rows[0].done
    assert table.reached == 4


def test_the_first_missing_step_points_to_the_line_that_does_something_else(inputs, recipe):
    _, _, value = inputs
    scores, scaled = recipe[0].value, recipe[1].value
    wrong = torch.softmax(scaled, dim=-2)
    table = step_table(recipe, computed(scores, scaled, wrong, wrong @ value))
    assert table.reached == 2
    assert table.last.line == 2
    assert table.deviation.line == 3


def test_moving_numbers_about_is_not_doing_something_else(inputs, recipe):
    scores = recipe[0].value
    missing = torch.softmax(scores, dim=-1)  # no scale
    table = step_table(recipe, computed(scores, scores.transpose(0, 1), missing))
    assert table.reached == 1
    assert table.deviation.line == 3


@pytest.mark.parametrize("fill", [-math.inf, -1e4, -1e9])
def test_masked_scores_are_found_whatever_they_are_filled_with(inputs, fill):
    query, key, value = inputs
    mask = torch.ones(3, 5, dtype=torch.bool).tril()
    steps = attention_steps(query, key, value, mask)
    masked = steps[1].value.masked_fill(~mask, fill)
    values = [steps[0].value, steps[1].value, masked, torch.softmax(masked, -1), steps[-1].value]
    assert lines(step_table(steps, computed(*values))) == [1, 2, 3, 4, 5]


def test_scores_that_are_not_masked_are_not_taken_for_masked_ones(inputs):
    query, key, value = inputs
    mask = torch.ones(3, 5, dtype=torch.bool).tril()
    steps = attention_steps(query, key, value, mask)
    weights = torch.softmax(steps[1].value, -1)
    table = step_table(
        steps, computed(steps[0].value, steps[1].value, weights, weights * mask, weights @ value)
    )
    assert table.reached == 2
    assert table.deviation.line == 3


def test_of_parallel_projections_the_one_that_is_wrong_is_named():
    d, h = 6, 2
    weights = {role: torch.randn(d, d) for role in "qkvo"}
    weights |= {f"b{role}": torch.randn(d) for role in "qkvo"}
    x, memory = torch.randn(2, 3, d), torch.randn(2, 4, d)
    steps = layer_steps(weights, h, x, memory, memory, None)
    titles = [step.title for step in steps]
    key = titles.index("K projected")
    values = [step.value for step in steps[:3]]
    values[key] = torch.randn(2, 3, d)
    table = step_table(steps, computed(*values))
    assert table.rows[table.reached].title == "K projected"


def test_splitting_heads_is_looked_up_by_the_order_of_its_numbers():
    split = torch.randn(2, 2, 3, 4)
    projected = split.transpose(1, 2).reshape(2, 3, 8)
    steps = [Step("projected", projected), Step("split into heads", split, heads=1)]
    right = step_table(steps, computed(projected, projected.view(2, 3, 2, 4), split))
    assert right.reached == 2
    one_by_one = step_table(steps, computed(projected, split[:, 0], split[:, 1]))
    assert one_by_one.reached == 2
    wrong = step_table(steps, computed(projected, projected.view(2, 2, 3, 4)))
    assert wrong.reached == 1
    assert wrong.deviation.line == 2


def test_steps_whose_numbers_are_all_the_same_are_left_out():
    steps = [Step("nothing", torch.zeros(2, 3)), Step("something", torch.arange(6.0))]
    table = step_table(steps, computed(torch.zeros(2, 3), torch.arange(6.0)))
    assert [row.title for row in table.rows] == ["something"]


def test_without_a_trace_there_is_no_table(recipe):
    assert step_table(recipe, []) is None


def test_not_a_number_is_no_step(recipe):
    assert step_table(recipe, computed(torch.full((2, 2, 3, 5), math.nan))).reached == 0
