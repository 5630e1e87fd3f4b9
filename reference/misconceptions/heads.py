"""Wrong ways to cut features into heads and to join them again."""

from collections.abc import Callable

from torch import Tensor


def _view_without_transpose(x: Tensor, n_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, n_heads, length, d_model // n_heads)


def _interleaved(x: Tensor, n_heads: int) -> Tensor:
    batch, length, d_model = x.shape
    return x.reshape(batch, length, d_model // n_heads, n_heads).permute(0, 3, 1, 2)


def _merge_without_transpose(x: Tensor) -> Tensor:
    batch, n_heads, length, d_k = x.shape
    return x.reshape(batch, length, n_heads * d_k)


SPLIT_MUTANTS: dict[str, Callable[[Tensor, int], Tensor]] = {
    "heads-view-without-transpose": _view_without_transpose,
    "heads-interleaved": _interleaved,
}
MERGE_MUTANTS: dict[str, Callable[[Tensor], Tensor]] = {
    "heads-merge-without-transpose": _merge_without_transpose,
}
