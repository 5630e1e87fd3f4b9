"""A control group for all workers together: memory and number of tasks, where one can be made.

Each worker has resource limits of its own; the group bounds what these do not count, and keeps the
machine from running out of memory. It is made for the zygote, which every worker is forked from,
since moving a process into a group takes longer than forking one.
"""

import os
from dataclasses import dataclass

from grader.sandbox.system import write_to

TOP = "/sys/fs/cgroup"
PREFIX = "transformer-grader"


@dataclass(frozen=True)
class Kind:
    """One of the interfaces.

    Attributes:
        controller: the folder below the top that belongs to it.
        memory: the file that a limit of memory is written to.
        tasks: the file that a limit of tasks is written to.
    """

    controller: str
    memory: str | None
    tasks: str | None

    def files(self) -> list[str]:
        """The files that limits are written to."""
        return [file for file in (self.memory, self.tasks) if file is not None]


UNIFIED = Kind("", "memory.max", "pids.max")
SEPARATE = (Kind("memory", "memory.limit_in_bytes", None), Kind("pids", None, "pids.max"))


class Group:
    """The control group of this process and of all that it will start; empty where there is none.

    Args:
        name: tells groups apart.
    """

    def __init__(self, name: str) -> None:
        self._folders: list[tuple[str, Kind]] = []
        kinds = (UNIFIED,) if os.path.exists(f"{TOP}/cgroup.controllers") else SEPARATE
        for kind in kinds:
            for parent in _parents(kind.controller):
                folder = f"{parent}/{PREFIX}.{name}"
                if self._make(folder, kind):
                    self._folders.append((folder, kind))
                    break

    def __bool__(self) -> bool:
        return bool(self._folders)

    @staticmethod
    def _make(folder: str, kind: Kind) -> bool:
        """Make a group and join it; False where that is not possible."""
        try:
            os.mkdir(folder)
        except OSError:
            return False
        try:
            if not all(os.access(f"{folder}/{file}", os.W_OK) for file in kind.files()):
                raise OSError
            write_to(f"{folder}/cgroup.procs", "0")
        except OSError:
            os.rmdir(folder)
            return False
        return True

    def bound(self, memory: int, tasks: int) -> None:
        """Set how many bytes of memory and how many threads and processes there may be."""
        for folder, kind in self._folders:
            try:
                if kind.memory is not None:
                    write_to(f"{folder}/{kind.memory}", str(memory))
                if kind.tasks is not None:
                    write_to(f"{folder}/{kind.tasks}", str(tasks))
            except OSError:
                pass  # more is in use than would be allowed: it stays as it was

    def leave(self) -> None:
        """Go back to the group above, and remove this one when nobody is left in it."""
        for folder, _ in self._folders:
            try:
                write_to(f"{os.path.dirname(folder)}/cgroup.procs", "0")
                os.rmdir(folder)
            except OSError:
                pass


def _parents(controller: str) -> list[str]:
    """Where a group may be made: in the caller's own, or at the top."""
    try:
        with open("/proc/self/cgroup") as file:
            lines = [line.strip().split(":", 2) for line in file]
    except OSError:
        return []
    own = [path for _, names, path in lines if controller in names.split(",")]
    base = f"{TOP}/{controller}".rstrip("/")
    return list(dict.fromkeys([*(base + path.rstrip("/") for path in own), base]))
