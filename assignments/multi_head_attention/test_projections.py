"""Milestone 1: the four projections."""

import pytest

from grader.checks import assert_parameter_count, assert_trainable, built
from grader.checks.fewer import told_of_layer
from grader.errors import CheckFailure, StudentRaised

FOUR = "the four projections of query, key, value and output"


@pytest.mark.parametrize(("d_model", "n_heads"), [(32, 4), (8, 1), (6, 6), (12, 3)])
def test_builds(student, d_model, n_heads):
    """The layer can be made for several sizes, one head and d_k = 1 included."""
    built(student.MultiHeadAttention, d_model=d_model, n_heads=n_heads)


@pytest.mark.parametrize(("d_model", "n_heads"), [(32, 4), (24, 2)])
def test_parameter_count(student, draw, d_model, n_heads):
    """The layer has 4·D² parameters, and D more for each bias."""
    layer = built(student.MultiHeadAttention, d_model=d_model, n_heads=n_heads)
    try:
        assert_parameter_count(layer, 4, d_model, 4, FOUR)
    except CheckFailure as failure:
        failure.misconception = failure.misconception or told_of_layer(layer, draw, d_model)
        raise


def test_count_does_not_depend_on_heads(student):
    """The number of parameters is the same for 1, 2, 3, 4, 6 and 24 heads."""
    counts = {}
    for n_heads in (1, 2, 3, 4, 6, 24):
        layer = built(student.MultiHeadAttention, d_model=24, n_heads=n_heads)
        counts[n_heads] = sum(p.value.numel() for p in layer.parameters().values())
    if len(set(counts.values())) > 1:
        raise CheckFailure(
            "The number of parameters changes with the number of heads.",
            "the same number for every n_heads",
            ", ".join(f"{count} for n_heads = {n}" for n, count in counts.items()),
            "d_model = 24",
        )


def test_projections_are_trainable(student):
    """Every parameter is trainable."""
    assert_trainable(built(student.MultiHeadAttention, d_model=16, n_heads=4))


@pytest.mark.parametrize(("d_model", "n_heads"), [(10, 4), (8, 3), (32, 5)])
def test_heads_must_divide_d_model(student, d_model, n_heads):
    """A number of heads that does not divide d_model is an error."""
    define = student.MultiHeadAttention
    try:
        define(d_model=d_model, n_heads=n_heads)
    except StudentRaised:
        return
    raise CheckFailure(
        f"MultiHeadAttention({d_model}, {n_heads}) is accepted, although {n_heads} does not divide "
        f"{d_model}.",
        "a ValueError or a failed assert",
        "a layer",
        f"MultiHeadAttention(d_model={d_model}, n_heads={n_heads})",
        "value-error-missing",
    )
