"""How many lanes this machine has room for, by the cores and the memory that may be used."""

import math
import os
from pathlib import Path

LANE_BYTES = 700 * 2**20  # of a lane with its zygote and a worker, with some to spare


def default_width(root: Path = Path("/")) -> int:
    """One lane a core, and no more than there is memory for; at least one.

    Args:
        root: where `/proc` and `/sys` lie.
    """
    memory = available_bytes(root)
    room = usable_cores(root) if memory is None else int(memory // LANE_BYTES)
    return max(1, min(usable_cores(root), room))


def usable_cores(root: Path = Path("/")) -> int:
    """How many cores this process may use: those it may run on, and its control group's share.

    A container's share is often less than the cores that it sees.

    Args:
        root: where `/sys` lies.
    """
    seen = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    quota, period = "max", "100000"
    found = _text(root / "sys/fs/cgroup/cpu.max").split()
    if len(found) == 2:
        quota, period = found
    else:  # the first version of control groups
        quota = _text(root / "sys/fs/cgroup/cpu/cpu.cfs_quota_us") or quota
        period = _text(root / "sys/fs/cgroup/cpu/cpu.cfs_period_us") or period
    try:
        share = int(quota) / int(period)
    except (ValueError, ZeroDivisionError):
        return seen  # "max": no share is set
    return seen if share <= 0 else max(1, min(seen, math.ceil(share)))


def available_bytes(root: Path = Path("/")) -> int | None:
    """The memory that is free for this process; None where the system does not tell.

    Args:
        root: where `/proc` and `/sys` lie.
    """
    found = []
    for line in _text(root / "proc/meminfo").splitlines():
        if line.startswith("MemAvailable:"):
            found.append(int(line.split()[1]) * 1024)
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        folder = root / "sys/fs/cgroup"
        limit, taken = _text(folder / most), _text(folder / used)
        if limit.isdigit() and taken.isdigit():
            found.append(max(0, int(limit) - int(taken)))
    return min(found, default=None)


def _text(path: Path) -> str:
    try:
        return path.read_text(encoding="ascii").strip()
    except (OSError, UnicodeDecodeError):
        return ""
