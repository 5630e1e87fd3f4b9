"""Milestone 7: mean aggregation on a graph. Row i of the adjacency: whose features node i takes."""

import pytest
import torch

from grader.checks import assert_close, same_inputs
from grader.checks.graph import assert_mean, chain
from grader.checks.tensors import assert_tensor
from grader.errors import StudentRaised

DTYPES = [torch.float32, torch.int64, torch.bool]


def test_graph_lesson(student, draw):
    """The lesson's graph, 0↔1↔2: rows ½ ½ 0, ⅓ ⅓ ⅓, 0 ½ ½."""
    assert_mean(student.mean_aggregate, torch.eye(3), chain(3))
    assert_mean(student.mean_aggregate, draw.normal(3, 4), chain(3))


def test_graph_isolated_node(student, draw):
    """A node without neighbours keeps its own features; so does a graph of one node."""
    edges = chain(4)
    edges[3] = edges[:, 3] = 0
    assert_mean(student.mean_aggregate, draw.normal(4, 3), edges)
    assert_mean(student.mean_aggregate, draw.normal(1, 3), torch.zeros(1, 1))


def test_graph_self_loop_counts_once(student, draw):
    """The self-loop counts once, whether the diagonal already has it or not."""
    features, edges = draw.normal(4, 3), chain(4)
    assert_mean(student.mean_aggregate, features, edges + torch.eye(4))
    some = edges.clone()
    some[1, 1] = 1
    assert_mean(student.mean_aggregate, features, some)


def test_graph_directed(student, draw):
    """Edges have a direction: row i says whose features node i takes."""
    edges = torch.tensor([[0, 1, 1, 0], [0, 0, 0, 0], [0, 1, 0, 1], [1, 0, 0, 0]]).float()
    assert_mean(student.mean_aggregate, draw.normal(4, 3), edges)


@pytest.mark.parametrize("dtype", DTYPES)
def test_graph_adjacency_dtypes(student, draw, dtype):
    """The adjacency is 0/1; another dtype than float32 gives the same, or an error."""
    edges = torch.tensor([[0, 1, 0], [1, 0, 1], [1, 1, 0]]).to(dtype)
    try:
        assert_mean(student.mean_aggregate, draw.normal(3, 2), edges)
    except StudentRaised:
        if dtype == torch.float32:
            raise


def test_graph_permutation(student, draw):
    """Nodes in another order give the results in that order."""
    features, edges = draw.normal(5, 3), (draw.normal(5, 5) > 0).float()
    order = draw.permutation(5)
    before = assert_tensor(student.mean_aggregate(features, edges), (5, 3), "The result")
    after = student.mean_aggregate(features[order], edges[order][:, order])
    assert_close(after, before[order], "The result for reordered nodes")


def test_graph_sizes(student, draw):
    """Any number of nodes and features, and a graph where all are neighbours."""
    for nodes, width in ((2, 1), (7, 5), (6, 6)):
        edges = (draw.normal(nodes, nodes) > 0.3).float()
        assert_mean(student.mean_aggregate, draw.normal(nodes, width), edges)
    assert_mean(student.mean_aggregate, draw.normal(5, 2), torch.ones(5, 5))


def test_graph_leaves_inputs_unchanged(student, draw):
    """The caller's features and adjacency are as they were."""
    before = [draw.normal(4, 3), chain(4)]
    result = student.mean_aggregate.call(*before, echo=True)
    same_inputs(result.inputs, before, ["features", "adjacency"])
