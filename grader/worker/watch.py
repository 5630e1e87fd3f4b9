"""Notes when a call runs a part of torch that the assignment does not allow; part of the worker.

It sees what the source does not show: names that are built, or looked up, or run from a text. It is
the worker's own word, so it can show that something was used, never that nothing was.
"""

import sys
import types
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

from grader.worker.modes import DispatchMode, in_new_threads

MAX_USES = 10
# What torch's own attention comes down to where it shows by no name of its own.
COMES_FROM = {"_safe_softmax": "scaled_dot_product_attention"}
TAMPERED = ""  # the name of a use when the watch was taken away
_watching_functions = torch._C._len_torch_function_stack
_watching_operations = torch._C._len_torch_dispatch_stack
# kinds that functions of torch have which are written in C: those know no other name
OF_TORCH = (types.BuiltinFunctionType, types.MethodDescriptorType, types.WrapperDescriptorType)
LOOKED_INTO = 2  # calls of one definition that are watched below Python, too


class LibraryWatch:
    """Watches calls for functions and modules of torch with disallowed names.

    Args:
        patterns: the last parts of the disallowed names, such as "Transformer*".
        root: what the file names of student code begin with.
        owners: the graded definitions; a use belongs to the innermost of them that is running.

    Attributes:
        uses: each use: its name in torch (`TAMPERED` where the watch was taken away), the
            definition that it belongs to or "", and the line: file, number, function.
    """

    def __init__(self, patterns: Iterable[str], root: str, owners: Iterable[str]) -> None:
        self._patterns = tuple(patterns)
        self._root = root
        self._owners = frozenset(owners)
        self._known: dict[str, bool] = {}
        self.fine_functions: set[Any] = set()  # of torch, whose names are known to be allowed
        self._calls: dict[Any, int] = {}
        if self._patterns:
            in_new_threads(self._both)
        self.uses: list[tuple[str, str, tuple[str, int, str] | None]] = []

    @contextmanager
    def _both(self) -> Iterator[None]:
        """Both modes, for a thread."""
        with _Functions(self), _Operations(self):
            yield

    @contextmanager
    def watch(self, target: Any) -> Iterator[None]:
        """Watch calls while the context lasts; those of a new target below Python, too."""
        if not self._patterns:
            yield
            return
        key = target if isinstance(target, str) else type(target)
        self._calls[key] = self._calls.get(key, 0) + 1
        modes: list[Any] = [_Functions(self)]
        if self._calls[key] <= LOOKED_INTO:
            modes.append(_Operations(self))
        for mode in modes:
            mode.__enter__()
        there = (_watching_functions(), _watching_operations())
        try:
            yield
        finally:
            if there != (_watching_functions(), _watching_operations()):
                self._add(TAMPERED, "", None)
            else:
                for mode in reversed(modes):
                    mode.__exit__(None, None, None)

    def look_into(self, module: Any) -> None:
        """Note the disallowed modules that a module is, or is made of."""
        if not self._patterns or not isinstance(module, torch.nn.Module):
            return
        for part in torch.nn.Module.modules(module):
            for kind in type(part).__mro__:
                if kind.__module__.split(".")[0] == "torch" and self.is_disallowed(kind.__name__):
                    self._add(kind.__name__, "", None)

    def is_disallowed(self, name: str) -> bool:
        """Whether a function or class of torch of that name is not allowed."""
        known = self._known.get(name)
        if known is None:
            named = COMES_FROM.get(name, name)
            known = any(fnmatchcase(named, pattern) for pattern in self._patterns)
            self._known[name] = known
        return known

    def note(self, name: str) -> None:
        """Note a use where it happens."""
        name = COMES_FROM.get(name, name)
        frame: types.FrameType | None = sys._getframe(2)
        line, owner = None, ""
        while frame is not None and not owner:
            code = frame.f_code
            if code.co_filename.startswith(self._root):
                if line is None:
                    file = code.co_filename.removeprefix(self._root)
                    line = (file, max(1, frame.f_lineno or 1), code.co_name)
                outermost = code.co_qualname.split(".")[0]
                owner = outermost if outermost in self._owners else ""
            frame = frame.f_back
        self._add(name, owner, line)

    def _add(self, name: str, owner: str, line: tuple[str, int, str] | None) -> None:
        use = (name, owner, line)
        if use not in self.uses and len(self.uses) < MAX_USES:
            self.uses.append(use)


class _Functions(TorchFunctionMode):
    """Sees torch's functions as Python calls them."""

    def __init__(self, watch: LibraryWatch) -> None:
        super().__init__()
        self._watch = watch
        self._fine = watch.fine_functions

    def __torch_function__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        try:
            is_fine = func in self._fine
        except TypeError:  # not hashable, so no function of torch's
            is_fine = False
        if not is_fine:
            name = getattr(func, "__name__", "")
            if self._watch.is_disallowed(name):
                self._watch.note(name)
            elif type(func) in OF_TORCH:
                self._fine.add(func)
        return func(*args, **kwargs) if kwargs else func(*args)


class _Operations(DispatchMode):  # type: ignore[no-untyped-call]
    """Sees the operations that torch's functions come down to."""

    def __init__(self, watch: LibraryWatch) -> None:
        super().__init__()
        self._watch = watch

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        name = func.overloadpacket.__name__
        if self._watch.is_disallowed(name):
            self._watch.note(name)
        return func(*args, **(kwargs or {}))
