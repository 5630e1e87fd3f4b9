"""Landlock: which files may be read or written, whatever the user's rights; no TCP, no signals.

Where namespaces are blocked this is what keeps a worker from other files. Inside namespaces it is a
second line.
"""

import ctypes
import os
from collections.abc import Iterable

from grader.sandbox.filesystem import is_below
from grader.sandbox.system import SandboxError, syscall

CREATE, ADD_RULE, RESTRICT = 444, 445, 446  # on every architecture
VERSION_FLAG, PATH_BENEATH = 1, 1
WRITE_FILE, READ_FILE, READ_DIR, TRUNCATE, IOCTL_DEV = 1 << 1, 1 << 2, 1 << 3, 1 << 14, 1 << 15
OF_FILES = 1 | WRITE_FILE | READ_FILE | TRUNCATE | IOCTL_DEV
# what an ABI can control: accesses to files, to the network, and scopes
FILES = {1: (1 << 13) - 1, 2: (1 << 14) - 1, 3: (1 << 15) - 1, 5: (1 << 16) - 1}
TCP, SCOPES = 0b11, 0b11
FIRST_WITH_TCP, FIRST_WITH_SCOPES = 4, 6


class _Ruleset(ctypes.Structure):
    _fields_ = [("files", ctypes.c_uint64), ("tcp", ctypes.c_uint64), ("scopes", ctypes.c_uint64)]


class _Beneath(ctypes.Structure):
    _pack_ = 1
    _layout_ = "ms"
    _fields_ = [("allowed", ctypes.c_uint64), ("folder", ctypes.c_int32)]


def abi() -> int:
    """The version of Landlock that the kernel has; 0 for none."""
    try:
        return syscall(CREATE, None, 0, VERSION_FLAG)
    except OSError:
        return 0


def restrict(readable: Iterable[str], writable: Iterable[str], hidden: Iterable[str] = ()) -> int:
    """Restrict this process and all that it starts; returns the version of Landlock.

    Args:
        readable: files and folders that may be read, with all that lies below.
        writable: files and folders that may be read and changed.
        hidden: folders below readable ones that may not be read; their names can still be listed.

    Raises:
        SandboxError: the kernel has no Landlock, or refuses.
    """
    version = abi()
    if not version:
        raise SandboxError("landlock", "the kernel has none")
    everything = FILES[max(known for known in FILES if known <= version)]
    attributes = _Ruleset(everything, TCP, SCOPES)
    size = 8 if version < FIRST_WITH_TCP else 16 if version < FIRST_WITH_SCOPES else 24
    try:
        ruleset = syscall(CREATE, ctypes.byref(attributes), size, 0)
    except OSError as error:
        raise SandboxError("landlock", error.strerror or "refused") from None
    try:
        concealed = tuple(hidden)
        for path in readable:
            _allow_reading(ruleset, path, concealed)
        for path in writable:
            _allow(ruleset, path, everything & ~1)
        syscall(RESTRICT, ruleset, 0)
    except OSError as error:
        raise SandboxError("landlock", error.strerror or "refused") from None
    finally:
        os.close(ruleset)
    return version


def _allow_reading(ruleset: int, path: str, hidden: tuple[str, ...]) -> None:
    inside = [folder for folder in hidden if is_below(folder, path)]
    if not inside:
        _allow(ruleset, path, READ_FILE | READ_DIR)
        return
    _allow(ruleset, path, READ_DIR)  # imports list the folders of packages
    for child in os.listdir(path):
        whole = os.path.join(path, child)
        if whole not in inside:
            _allow_reading(ruleset, whole, tuple(inside))


def _allow(ruleset: int, path: str, access: int) -> None:
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return  # what is not there, or cannot be reached, needs no permission
    try:
        if not os.path.isdir(path):
            access &= OF_FILES
        rule = _Beneath(access, descriptor)
        syscall(ADD_RULE, ruleset, PATH_BENEATH, ctypes.byref(rule), 0)
    finally:
        os.close(descriptor)
