"""Checks of mean aggregation: features (N, F), adjacency (N, N) -> (N, F)."""

from functools import partial

import torch
from torch import Tensor

from grader.checks.raised import raises_unlike
from grader.checks.tensors import assert_tensor, is_close, show, value_message
from grader.diagnosis import describe, matching
from grader.errors import CheckFailure
from grader.student import Definition
from reference import mean_aggregate
from reference.misconceptions.graph import GRAPH_MUTANTS, GRAPH_VARIANTS


def chain(nodes: int) -> Tensor:
    """The adjacency of a chain 0↔1↔2…, without self-loops: (N, N), float32."""
    beside = torch.ones(nodes - 1)
    return torch.diag(beside, 1) + torch.diag(beside, -1)


def assert_mean(define: Definition, features: Tensor, adjacency: Tensor) -> None:
    """See that the result is the mean over each node's neighbours and itself.

    Args:
        define: the submission's function.
        features: (N, F)
        adjacency: (N, N), 0/1; row i marks the nodes whose features node i takes.
    """
    with raises_unlike("hard-coded-figures", lambda: define(torch.eye(3), chain(3))):
        got = assert_tensor(define(features, adjacency), features.shape, "The result")
    expected = mean_aggregate(features, adjacency)
    if is_close(got, expected):
        return
    mutants = [
        (name, partial(mutant, features, adjacency))
        for name, mutant in (*GRAPH_MUTANTS.items(), *GRAPH_VARIANTS)
    ]
    misconception, sentence = describe(matching(got, expected, mutants))
    raise CheckFailure(
        f"{value_message('The result', got)} {sentence or ''}".strip(),
        show(expected),
        show(got),
        f"adjacency = torch.tensor({adjacency.tolist()})\nfeatures = {show(features)}",
        misconception,
    )
