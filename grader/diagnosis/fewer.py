"""Which mistake it is when a module has fewer parameters than the recipe: told by its values.

A number of parameters says that a matrix or a norm is missing, and not which. With a single token
and no biases an attention is one linear map, W_O·W_V, whatever its heads, its queries and its keys
are; so it shows whether W_O takes part. With all matrices at 0 a block is its norms alone; so it
shows how many are applied.
"""

import itertools
from collections.abc import Callable, Iterator, Sequence

import torch
from torch import Tensor

from reference.misconceptions.blocks import layer_norm

MAX_MATRICES = 40  # pairs of more are not tried


def fewer_projections(
    matrices: Sequence[Tensor],
    expected: int,
    d_model: int,
    given: Tensor,
    got: Callable[[Tensor], bool],
) -> str | None:
    """What is missing of the projections of an attention, or None where nothing shows it.

    Args:
        matrices: of the attention, in any layout of rows, such as (D, D) or (3·D, D).
        expected: how many of (D, D) there should be: four for each attention.
        d_model: D.
        given: (D,), the token that the attention reads.
        got: whether the module gave what an attention that gives this (D,) leads to.
    """
    slices = [m for m in matrices if m.dim() == 2 and m.shape[0] == m.shape[1] < d_model]
    several = len({m.shape for m in slices}) == 1 and len(slices) >= d_model // len(slices[0])
    maps = list(_of_slices(slices, d_model)) if several else []
    maps += [found for matrix in matrices for found in _maps(matrix, d_model)]
    if not maps or len(maps) > MAX_MATRICES:
        return None
    for turned in (False, True):
        each = [(kind, m.T if turned else m) for kind, m in maps]
        if any(got(m @ given) for _, m in each):
            return "output-projection-missing"
        for (first, w_v), (_, w_o) in itertools.product(each, repeat=2):
            if got(w_o @ (w_v @ given)):
                fewer = len(each) < expected
                return first or ("heads-shared-projection" if fewer else None)
    return None


def _of_slices(slices: Sequence[Tensor], d_model: int) -> Iterator[tuple[str | None, Tensor]]:
    """The maps (D, D) of heads that each take their slice alone, by head or by role in order."""
    heads = d_model // len(slices[0])
    roles, rest = divmod(len(slices), heads)
    for role in range(0 if rest else roles):
        yield "heads-sliced-input", torch.block_diag(*slices[role::roles])  # type: ignore[no-untyped-call]
        yield "heads-sliced-input", torch.block_diag(*slices[role * heads : (role + 1) * heads])  # type: ignore[no-untyped-call]


def _maps(matrix: Tensor, d_model: int) -> Iterator[tuple[str | None, Tensor]]:
    """The maps (D, D) that lie in a matrix, each with the mistake that its shape shows."""
    shape = tuple(size for size in matrix.shape if size != 1)
    if len(shape) != 2:
        return
    matrix = matrix.reshape(shape)
    rows, columns = shape
    if columns == d_model and rows % d_model == 0:
        for square in matrix.chunk(rows // d_model):
            yield None, square
    elif columns == d_model and d_model % rows == 0:
        yield "heads-shared-projection", torch.cat([matrix] * (d_model // rows))
    elif rows == columns and d_model % rows == 0:
        yield "heads-sliced-input", torch.kron(torch.eye(d_model // rows), matrix)


def norms_are_shared(
    gains: Sequence[tuple[Tensor, Tensor]], norms: int, x: Tensor, out: Tensor
) -> bool:
    """Whether a block with fewer norms than it should have applies one of them several times.

    Args:
        gains: gain and shift of each norm that there is, (D,) both.
        norms: how many there should be.
        x: (B, T, D)
        out: (B, T, D), what the block gives with all else at 0.
    """
    for chosen in itertools.product(gains, repeat=norms):
        h = x
        for gain, shift in chosen:
            h = layer_norm(h, gain, shift)
        if torch.allclose(h, out, rtol=1e-3, atol=1e-3):
            return True
    return False
