"""Wrong graph layers: the reference's mean with one part replaced."""

from collections.abc import Callable

import torch
from torch import Tensor


def _looped(adjacency: Tensor) -> Tensor:
    """The adjacency as float32 with ones on its diagonal."""
    return torch.maximum((adjacency != 0).float(), torch.eye(len(adjacency)))


def _no_self_loop(features: Tensor, adjacency: Tensor) -> Tensor:
    edges = (adjacency != 0).float()
    return edges @ features / edges.sum(1, keepdim=True).clamp_min(1)


def _sum(features: Tensor, adjacency: Tensor) -> Tensor:
    return _looped(adjacency) @ features


def _column_normalised(features: Tensor, adjacency: Tensor) -> Tensor:
    edges = _looped(adjacency)
    return edges / edges.sum(0, keepdim=True) @ features


def _degrees_of_columns(features: Tensor, adjacency: Tensor) -> Tensor:
    edges = _looped(adjacency)
    return edges / edges.sum(0)[:, None] @ features


def _transposed(features: Tensor, adjacency: Tensor) -> Tensor:
    edges = _looped(adjacency).T
    return edges / edges.sum(1, keepdim=True) @ features


def _symmetric(features: Tensor, adjacency: Tensor) -> Tensor:
    edges = _looped(adjacency)
    root = edges.sum(1).rsqrt()
    return root[:, None] * edges * root[None, :] @ features


def _self_loop_twice(features: Tensor, adjacency: Tensor) -> Tensor:
    edges = (adjacency != 0).float() + torch.eye(len(adjacency))
    return edges / edges.sum(1, keepdim=True) @ features


GRAPH_MUTANTS: dict[str, Callable[[Tensor, Tensor], Tensor]] = {
    "graph-no-self-loop": _no_self_loop,
    "graph-sum": _sum,
    "graph-column-normalised": _column_normalised,
    "graph-transposed": _transposed,
    "graph-symmetric": _symmetric,
    "graph-self-loop-twice": _self_loop_twice,
}
# Further ways to make a mistake, each with its id.
GRAPH_VARIANTS: tuple[tuple[str, Callable[[Tensor, Tensor], Tensor]], ...] = (
    ("graph-column-normalised", _degrees_of_columns),
)
