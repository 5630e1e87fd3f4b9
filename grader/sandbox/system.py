"""Linux's system calls, by name where libc has them and by number where it has not."""

import ctypes
import functools
import os
import sys
from typing import Any

IS_LINUX = sys.platform.startswith("linux")


class SandboxError(Exception):
    """A mechanism could not be had.

    Attributes:
        mechanism: which one, as `grader doctor` names it.
        reason: why not.
    """

    def __init__(self, mechanism: str, reason: str) -> None:
        super().__init__(f"{mechanism}: {reason}")
        self.mechanism = mechanism
        self.reason = reason


@functools.cache
def libc() -> Any:
    """The C library."""
    return ctypes.CDLL(None, use_errno=True)


def call(name: str, *arguments: Any) -> int:
    """Call a function of libc that answers -1 on errors; raises OSError then."""
    return _checked(getattr(libc(), name)(*arguments))


def syscall(number: int, *arguments: Any) -> int:
    """Make a system call by its number; raises OSError when it fails.

    Whole numbers are passed as long, since the function has no prototype.
    """
    passed = [ctypes.c_long(a) if isinstance(a, int) else a for a in arguments]
    return _checked(libc().syscall(ctypes.c_long(number), *passed))


def _checked(answer: int) -> int:
    if answer < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return answer


def prctl(option: int, value: int = 0) -> int:
    """Linux's prctl; does nothing elsewhere."""
    return call("prctl", option, value, 0, 0, 0) if IS_LINUX else 0


def write_to(path: str, text: str) -> None:
    """Write a text, in one piece, to a file of the kernel's that is there."""
    descriptor = os.open(path, os.O_WRONLY)
    try:
        os.write(descriptor, text.encode())
    finally:
        os.close(descriptor)


def die_with_parent() -> None:
    """Have this process killed when its parent ends (PR_SET_PDEATHSIG)."""
    prctl(1, 9)


def adopt_orphans() -> None:
    """Become the parent of grandchildren whose parent ends (PR_SET_CHILD_SUBREAPER)."""
    prctl(36, 1)
