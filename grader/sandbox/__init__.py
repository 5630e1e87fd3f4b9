"""Shuts a worker in: one file a mechanism, entered in the forked child before any student code.

`confine` has the order; `docs/security.md` says what each mechanism is for, and what shows it.
"""

from grader.sandbox.confine import (
    LEVELS,
    MECHANISMS,
    Confinement,
    Held,
    Isolation,
    best_level,
    enter,
)
from grader.sandbox.descriptors import SOCKET, STATUS
from grader.sandbox.groups import Group
from grader.sandbox.identity import readable_by_others
from grader.sandbox.limits import Limits, enter_limits, limit_memory
from grader.sandbox.system import SandboxError, adopt_orphans

__all__ = [
    "LEVELS",
    "MECHANISMS",
    "SOCKET",
    "STATUS",
    "Confinement",
    "Group",
    "Held",
    "Isolation",
    "Limits",
    "SandboxError",
    "adopt_orphans",
    "best_level",
    "enter",
    "enter_limits",
    "limit_memory",
    "readable_by_others",
]
