"""Runs on the CPU what asks for a device that this machine does not have, and notes where it did.

Only standard library and torch: this runs in the worker.
"""

import sys
from typing import Any

import torch
from torch.overrides import TorchFunctionMode

ABSENT = ("cuda", "mps", "xpu")
MAX_PLACES = 20


class OnCpu(TorchFunctionMode):
    """While it is active, a device that is not there means the CPU.

    Args:
        root: what the file names of student code begin with.

    Attributes:
        places: the lines of the student's that asked for one: file and line.
        guarded: for each file the lines on which a device may be missing, since the code provides
            for it; these are not noted.
    """

    def __init__(self, root: str) -> None:
        super().__init__()
        self._root = root
        self.guarded: dict[str, set[int]] = {}
        self.places: list[tuple[str, int]] = []

    def enter(self) -> None:
        """Be active from now on."""
        self.__enter__()  # type: ignore[no-untyped-call]
        torch.set_default_device = self._no_default
        torch.cuda.synchronize = lambda *_, **__: None
        move = torch.nn.Module.to

        def to(module: Any, *args: Any, **kwargs: Any) -> Any:
            """In place of `Module.to`, which takes a device apart before any tensor is asked."""
            if args and self._is_absent(args[0], number=True):
                self._note()
                args = ("cpu", *args[1:])
            if self._is_absent(kwargs.get("device"), number=True):
                self._note()
                kwargs["device"] = "cpu"
            return move(module, *args, **kwargs)

        torch.nn.Module.to = to  # type: ignore[method-assign,assignment]

    def _no_default(self, device: Any) -> None:
        """In place of `torch.set_default_device`."""
        if self._is_absent(device):
            self._note()

    def __torch_function__(
        self,
        func: Any,
        types: Any,
        args: Any = (),
        kwargs: Any = None,
    ) -> Any:
        kwargs = kwargs or {}
        name = getattr(func, "__name__", "")
        if name in ABSENT and args:  # x.cuda()
            self._note()
            return args[0]
        if name == "pin_memory" and args:
            return args[0]
        if self._is_absent(kwargs.get("device")):
            self._note()
            kwargs = {**kwargs, "device": "cpu"}
        if name == "to" and len(args) > 1 and self._is_absent(args[1], number=True):
            self._note()
            args = (args[0], "cpu", *args[2:])
        return func(*args, **kwargs)

    @staticmethod
    def _is_absent(device: Any, number: bool = False) -> bool:
        """Whether a value names a device that is not there; with `number`, a number does, too."""
        if number and type(device) is int:
            return True
        if isinstance(device, torch.device):
            device = device.type
        return isinstance(device, str) and device.partition(":")[0] in ABSENT

    def _note(self) -> None:
        """Note the line of the student's that asked for it."""
        frame = sys._getframe(2)
        while frame is not None and not frame.f_code.co_filename.startswith(self._root):
            frame = frame.f_back  # type: ignore[assignment]
        if frame is not None and len(self.places) < MAX_PLACES:
            place = (frame.f_code.co_filename.removeprefix(self._root), frame.f_lineno)
            if place not in self.places and place[1] not in self.guarded.get(place[0], ()):
                self.places.append(place)
