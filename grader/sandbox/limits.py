"""Resource limits: how much of the machine one worker may take."""

import dataclasses
import os
from typing import Any

try:
    import resource as _resource
except ImportError:  # Windows
    _resource = None  # type: ignore[assignment]
resource: Any = _resource


UNKNOWN_TASKS = 1_000


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one worker may take.

    Attributes:
        cpu_seconds: processor time over the worker's whole life.
        memory_bytes: address space on top of what the process maps when it starts.
        file_bytes: size of a file it writes.
        open_files: descriptors.
        tasks: threads (and processes, where any can be started).
    """

    cpu_seconds: int = 120
    memory_bytes: int = 2 * 2**30
    file_bytes: int = 64 * 2**20
    open_files: int = 256
    tasks: int = 64


def enter_limits(limits: Limits, mapped: int | None = None) -> bool:
    """Set the limits on this process and all that it starts; False where there are none to set.

    Args:
        limits: what to set.
        mapped: address space that counts as there already; by default what is mapped now.
    """
    if resource is None:
        return False
    _lower(resource.RLIMIT_CORE, 0)
    _lower(resource.RLIMIT_CPU, limits.cpu_seconds)
    _lower(resource.RLIMIT_FSIZE, limits.file_bytes)
    _lower(resource.RLIMIT_NOFILE, limits.open_files)
    _lower(resource.RLIMIT_NPROC, limits.tasks)
    limit_memory(limits.memory_bytes, mapped)
    return True


def limit_memory(size: int, mapped: int | None = None) -> None:
    """Let this process map so many bytes on top of what it has; does nothing where it cannot."""
    mapped = mapped_bytes() if mapped is None else mapped
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


def mapped_bytes() -> int | None:
    """Address space mapped now, in bytes; None where the system does not tell."""
    try:
        with open("/proc/self/statm") as file:
            return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, ValueError):
        return None


def prefer_to_be_killed() -> None:
    """When memory runs out, have the system end this process, and not the one that grades."""
    try:
        with open("/proc/self/oom_score_adj", "w") as file:
            file.write("1000")
    except OSError:
        pass  # not Linux


def tasks_of_user() -> int:
    """How many threads the user of this process has now; many where the system does not tell."""
    user, count = os.geteuid(), 0
    try:
        processes = [name for name in os.listdir("/proc") if name.isdigit()]
    except OSError:
        return UNKNOWN_TASKS
    for name in processes:
        try:
            if os.stat(f"/proc/{name}").st_uid == user:
                count += len(os.listdir(f"/proc/{name}/task"))
        except OSError:
            continue  # it has ended
    return count
