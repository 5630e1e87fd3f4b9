"""Counts arithmetic operations while a call runs; part of the worker."""

from typing import Any

import torch

from grader.worker.modes import DispatchMode, in_new_threads

aten = torch.ops.aten


class OperationCounter(DispatchMode):  # type: ignore[no-untyped-call]
    """Counts every operation on tensors: 2·m·n·k for a matrix product, else one per element.

    Views cost nothing. Elementwise operations and reductions cost the larger of what they read and
    what they write, in elements, so attention by broadcasting and sums is counted as well as a
    matrix product. `count` is exact for given shapes, but it is the worker's own word.
    """

    def __init__(self) -> None:
        super().__init__()
        self.count = 0

    def __enter__(self) -> Any:
        self._stop = in_new_threads(lambda: _InThread(self))
        return super().__enter__()  # type: ignore[no-untyped-call]

    def __exit__(self, *error: Any) -> None:
        self._stop()
        super().__exit__(*error)  # type: ignore[no-untyped-call]

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        result = func(*args, **(kwargs or {}))
        self.count += _operations(func, args, result)
        return result


class _InThread(DispatchMode):  # type: ignore[no-untyped-call]
    """Counts for another counter, in a thread of its own."""

    def __init__(self, counter: OperationCounter) -> None:
        super().__init__()
        self._counter = counter

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        return self._counter.__torch_dispatch__(func, types, args, kwargs)


def _operations(func: Any, args: Any, result: Any) -> int:
    packet = func.overloadpacket
    if packet in (aten.mm, aten.bmm, aten.mv, aten.dot):
        return int(2 * args[0].numel() * (args[1].shape[-1] if args[1].dim() > 1 else 1))
    if packet in (aten.addmm, aten.baddbmm, aten.addbmm, aten.addmv):
        left, right = args[1], args[2]
        return int(2 * left.numel() * (right.shape[-1] if right.dim() > 1 else 1) + result.numel())
    if packet is aten.convolution:
        weight = args[1]
        return int(2 * result.numel() * weight.shape[1:].numel())
    if _is_view(func):
        return 0
    sizes = [tensor.numel() for tensor in _tensors((args, result))]
    return max(sizes, default=0)


def _is_view(func: Any) -> bool:
    """Whether the operation only looks at its input anew, and computes nothing."""
    returns = func._schema.returns
    alias = returns[0].alias_info if returns else None
    return alias is not None and not alias.is_write


def _tensors(tree: Any) -> list[torch.Tensor]:
    if isinstance(tree, torch.Tensor):
        return [tree]
    if isinstance(tree, (tuple, list)):
        return [tensor for item in tree for tensor in _tensors(item)]
    return []
