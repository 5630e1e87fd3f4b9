"""What modes of torch's dispatcher share, and how they reach into threads; part of the worker."""

import threading
from collections.abc import Callable
from contextlib import AbstractContextManager
from typing import Any

from torch.utils._python_dispatch import TorchDispatchMode


class DispatchMode(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """A mode that sees every operation while it is active, in the thread that entered it."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]

    @classmethod
    def _should_skip_dynamo(cls) -> bool:
        """False: else the first use imports `torch._dynamo`, for 0.9 s (torch 2.4 and later)."""
        return False


def in_new_threads(make: Callable[[], AbstractContextManager[Any]]) -> Callable[[], None]:
    """Have each thread that is started from now on run in a context: a mode is one thread's.

    Args:
        make: gives a thread's context.

    Returns:
        What ends this for threads that are started later.
    """
    start = threading.Thread._bootstrap_inner  # type: ignore[attr-defined]

    def run(thread: threading.Thread) -> None:
        with make():
            start(thread)

    def undo() -> None:
        threading.Thread._bootstrap_inner = start  # type: ignore[attr-defined]

    threading.Thread._bootstrap_inner = run  # type: ignore[attr-defined]
    return undo
