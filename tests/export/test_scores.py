"""Points on other scales: they add up, whoever adds them."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.export.scores import (
    added,
    adding_up,
    rescaled,
    rescaled_parts,
    scaled_to_integers,
)

PARTS = st.lists(st.decimals("0", "5", places=2), min_size=1, max_size=80)


@given(PARTS)
def test_doubles_add_up_to_the_exact_sum(parts):
    numbers = adding_up(parts)
    assert added(numbers) == float(sum(parts))
    assert all(
        abs(number - float(part)) < 1e-9 for number, part in zip(numbers, parts, strict=True)
    )
    assert all(number >= 0 for number in numbers)
    assert all(number == 0 for number, part in zip(numbers, parts, strict=True) if part == 0)


@given(PARTS, st.decimals("0.1", "1000", places=2))
def test_rescaled_parts_add_up_to_the_rescaled_sum(parts, most):
    full = sum(parts) + 1
    scaled = rescaled_parts(parts, full, most)
    assert sum(scaled) == rescaled(sum(parts), full, most)
    assert all(part >= 0 for part in scaled)
    for part, before in zip(scaled, parts, strict=True):
        assert abs(part - before * most / full) <= Decimal("0.01")
        assert part == 0 or before != 0


@pytest.mark.parametrize(
    ("value", "of", "to", "expected"),
    [("12", "12", "100", "100"), ("6", "12", "100", "50"), ("1", "12", "100", "8.33"),
     ("0.06", "12", "1", "0.01"), ("8.5", "12", "12", "8.5"), ("0", "12", "7", "0")],
)  # fmt: skip
def test_a_score_on_another_scale_is_rounded_half_up(value, of, to, expected):
    assert rescaled(Decimal(value), Decimal(of), Decimal(to)) == Decimal(expected)


@pytest.mark.parametrize(
    ("values", "scale"), [(["1", "3"], 1), (["0.5"], 10), (["0.25", "1"], 100), (["0.125"], 1000)]
)
def test_the_least_power_of_ten_makes_all_whole(values, scale):
    assert scaled_to_integers(map(Decimal, values)) == scale
