"""Milestone 2: splitting and merging heads."""

import pytest
import torch

from grader.checks import assert_close, assert_merge, assert_split
from grader.checks.raised import raises_unlike

EDGES = [(1, 3, 2, 2), (2, 1, 2, 3), (2, 3, 1, 4), (2, 3, 4, 1), (1, 1, 1, 1)]


def numbered(*shape):
    """0, 1, 2, … in that shape: every feature can be told from every other."""
    return torch.arange(float(torch.Size(shape).numel())).view(shape)


@pytest.mark.parametrize(("batch", "length", "n_heads", "d_k"), [(1, 2, 2, 2), (2, 3, 4, 5)])
def test_split_heads_places_features(student, batch, length, n_heads, d_k):
    """split_heads gives head h of each token its features h·d_k to (h+1)·d_k - 1."""
    x = numbered(batch, length, n_heads * d_k)
    with raises_unlike("hard-coded-figures", lambda: student.split_heads(numbered(2, 6, 32), 4)):
        assert_split(student.split_heads, x, n_heads)


@pytest.mark.parametrize(("batch", "length", "n_heads", "d_k"), EDGES)
def test_split_heads_at_the_edges(student, batch, length, n_heads, d_k):
    """split_heads works for one sample, one token, one head, d_k = 1, and non-contiguous input."""
    x = numbered(batch, length, n_heads * d_k)
    assert_split(student.split_heads, x, n_heads)
    assert_split(student.split_heads, x.transpose(1, 2).contiguous().transpose(1, 2), n_heads)


@pytest.mark.parametrize(("batch", "length", "n_heads", "d_k"), [(1, 2, 2, 2), (2, 3, 4, 5)])
def test_merge_heads_places_features(student, batch, length, n_heads, d_k):
    """merge_heads puts the heads of each token side by side."""
    assert_merge(student.merge_heads, numbered(batch, n_heads, length, d_k))


@pytest.mark.parametrize(("batch", "length", "n_heads", "d_k"), EDGES)
def test_merge_heads_at_the_edges(student, batch, length, n_heads, d_k):
    """merge_heads works for one sample, one token, one head, d_k = 1, and non-contiguous input."""
    assert_merge(student.merge_heads, numbered(batch, n_heads, length, d_k))
    assert_merge(student.merge_heads, numbered(batch, length, n_heads, d_k).transpose(1, 2))


def test_merge_heads_undoes_split_heads(student, draw):
    """merge_heads(split_heads(x)) is x again."""
    x = draw.normal(2, 5, 12)
    heads = student.split_heads(x, 3)
    assert_close(student.merge_heads(heads), x, "merge_heads(split_heads(x, 3))")
