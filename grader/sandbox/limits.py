"""Resource limits: how much of the machine one worker may take."""

import dataclasses
import os
from typing import Any

try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None  # type: ignore[assignment]
resource: Any = _resource


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one worker may take.

    Attributes:
        cpu_seconds: processor time over the worker's whole life.
        memory_bytes: address space on top of what the process maps when it starts.
        file_bytes: size of a file it writes.
        open_files: descriptors.
        processes: processes and threads of its user (does not bind root).
    """

    cpu_seconds: int = 120
    memory_bytes: int = 2 * 2**30
    file_bytes: int = 64 * 2**20
    open_files: int = 256
    processes: int = 256


def enter_limits(limits: Limits) -> bool:
    """Set the limits on this process and all that it starts; False where there are none to set."""
    if resource is None:
        return False
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_NPROC, limits.processes)
    limit_memory(limits.memory_bytes)
    return True


def limit_memory(size: int) -> None:
    """Let this process map so many bytes on top of what it has; does nothing where it cannot."""
    mapped = _mapped_bytes()
    if resource is not None and mapped is not None:
        _lower(resource.RLIMIT_AS, mapped + size)


def _lower(which: int, value: int) -> None:
    """Set soft and hard limit to `value`, or leave the hard limit where it is lower already."""
    hard = resource.getrlimit(which)[1]
    if hard != resource.RLIM_INFINITY:
        value = min(value, hard)
    try:
        resource.setrlimit(which, (value, value))
    except (ValueError, OSError):
        pass  # macOS refuses some of them; the deadline on the trusted side still holds


def _mapped_bytes() -> int | None:
    """Address space mapped now, in bytes; None where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None
