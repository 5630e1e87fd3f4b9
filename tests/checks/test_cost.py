"""How a cost grows: exact polynomials, and what is linear, quadratic or cubic."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.checks.cost import assert_quadratic, assert_towards_quadratic, polynomial, table
from grader.errors import CheckFailure

LENGTHS = (32, 64, 128, 256)


def counts(a=0, b=0, c=0, d=0):
    return {n: a * n**3 + b * n**2 + c * n + d for n in LENGTHS}


coefficient = st.integers(0, 10**6)


@given(coefficient, coefficient, coefficient, coefficient)
def test_the_polynomial_is_found_exactly(a, b, c, d):
    assert polynomial(counts(a, b, c, d)) == [d, c, b, a]


@given(b=st.integers(1, 1000), c=st.integers(0, 100), d=st.integers(0, 1000))
def test_a_quadratic_cost_passes(b, c, d):
    assert_quadratic(counts(0, b, c * b, d), "it")


@given(a=st.integers(1, 100), b=st.integers(0, 80))
def test_a_cubic_cost_is_named(a, b):
    with pytest.raises(CheckFailure) as info:
        assert_quadratic(counts(a, b * a), "it")
    assert info.value.misconception == "cost-cubic"


@given(c=st.integers(1, 1000), d=st.integers(0, 1000))
def test_a_linear_cost_is_named(c, d):
    with pytest.raises(CheckFailure) as info:
        assert_quadratic(counts(0, 0, c, d), "it")
    assert info.value.misconception == "cost-linear"


def test_a_cost_that_cannot_be_counted_is_for_a_person():
    with pytest.raises(CheckFailure) as info:
        assert_quadratic(counts(), "it")
    assert info.value.status == "review"


def test_a_layer_grows_towards_quadratic():
    assert_towards_quadratic(counts(0, 4 * 32, 8 * 32**2), "it")


@pytest.mark.parametrize(
    ("cost", "word"),
    [
        (counts(0, 0, 5), "cost-linear"),
        (counts(5), "cost-cubic"),
        (counts(0, 0, 0, 5), "cost-linear"),
    ],
)
def test_a_layer_that_grows_otherwise_is_named(cost, word):
    with pytest.raises(CheckFailure) as info:
        assert_towards_quadratic(cost, "it")
    assert info.value.misconception == word


def test_the_table_shows_lengths_operations_and_ratios():
    assert table({64: 100, 128: 400}) == "n = 64: 100 operations\nn = 128: 400 operations, 4.00×"
