"""A graph layer that takes the mean of a node's neighbours (lesson 115; Hamilton 2017, 3.1)."""

import torch
from torch import Tensor


def mean_aggregate(features: Tensor, adjacency: Tensor) -> Tensor:
    """Return for each node the mean over itself and its neighbours: D⁻¹(A + I)X.

    It is attention whose mask is the graph and whose scores are all equal.

    Args:
        features: (N, F)
        adjacency: (N, N), 0/1 or bool; row i marks the nodes whose features node i takes. A node
            counts itself once, whether the diagonal marks it or not.

    Returns:
        (N, F)
    """
    loops = torch.eye(len(adjacency), dtype=torch.bool, device=adjacency.device)  # (N, N)
    taken = (adjacency.bool() | loops).to(features.dtype)  # (N, N)
    return (taken @ features) / taken.sum(dim=1, keepdim=True)  # (N, F)
