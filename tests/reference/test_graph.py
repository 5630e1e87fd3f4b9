"""The mean of the neighbours against the row-normalised matrix."""

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import mean_aggregate, scaled_dot_product_attention


@settings(deadline=None, derandomize=True, max_examples=50)
@given(
    n=st.integers(1, 7), features=st.integers(1, 4), diagonal=st.sampled_from([0, 1, None]),
    dtype=st.sampled_from([torch.float32, torch.int64, torch.bool]), seed=st.integers(0, 2**31),
)  # fmt: skip
def test_it_is_the_row_normalised_adjacency_with_one_self_loop(n, features, diagonal, dtype, seed):
    random = torch.Generator().manual_seed(seed)
    adjacency = torch.rand(n, n, generator=random) < 0.4  # directed
    if diagonal is not None:
        adjacency.fill_diagonal_(diagonal)
    x = torch.randn(n, features, generator=random)
    given_adjacency = adjacency.to(dtype)
    got = mean_aggregate(x, given_adjacency)
    for i in range(n):
        taken = [j for j in range(n) if j == i or adjacency[i, j]]
        expected = sum(x[j] for j in taken) / len(taken)
        torch.testing.assert_close(got[i], expected)
    assert torch.equal(given_adjacency, adjacency.to(dtype))


def test_a_node_takes_from_its_row_and_not_from_its_column():
    adjacency = torch.tensor([[0, 1], [0, 0]])
    got = mean_aggregate(torch.tensor([[1.0], [3.0]]), adjacency)
    assert got.tolist() == [[2.0], [3.0]]


@pytest.mark.parametrize("diagonal", [0.0, 1.0])
def test_a_node_without_neighbours_keeps_its_features(diagonal):
    x = torch.randn(3, 4)
    assert torch.equal(mean_aggregate(x, diagonal * torch.eye(3)), x)


def test_it_is_attention_with_equal_scores_and_the_graph_as_mask():
    adjacency = torch.tensor([[1, 1, 0], [0, 1, 0], [1, 1, 1]])
    x, zeros = torch.randn(3, 4), torch.zeros(3, 2)
    expected, _ = scaled_dot_product_attention(zeros, zeros, x, adjacency)
    torch.testing.assert_close(mean_aggregate(x, adjacency), expected)
