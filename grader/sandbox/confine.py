"""Entering: every mechanism in its order, in the forked process, before any student code."""

import dataclasses
import os
from typing import Literal

from grader.sandbox import filesystem
from grader.sandbox.capabilities import (
    drop_bounding_set,
    drop_capabilities,
    forbid_new_privileges,
)
from grader.sandbox.descriptors import keep_only
from grader.sandbox.filesystem import HOME, change_root
from grader.sandbox.identity import candidates, take_own_id
from grader.sandbox.landlock import restrict
from grader.sandbox.limits import (
    Limits,
    enter_limits,
    mapped_bytes,
    prefer_to_be_killed,
    tasks_of_user,
)
from grader.sandbox.namespaces import KINDS, become_first_of_its_processes, unshare
from grader.sandbox.seccomp import filter_calls
from grader.sandbox.system import IS_LINUX, SandboxError, die_with_parent

Isolation = Literal["namespaces", "limits", "none"]
LEVELS: tuple[Isolation, ...] = ("namespaces", "limits", "none")
MECHANISMS = (
    "descriptors", *(f"{kind} namespace" for kind in KINDS), "filesystem", "limits",
    "identity", "capabilities", "no_new_privs", "landlock", "seccomp", "cgroup",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class Confinement:
    """How a worker is shut in.

    Attributes:
        isolation: "namespaces", "limits" (Landlock, seccomp and resource limits), or "none"
            (resource limits at most).
        folder: an empty folder of the worker's own.
        readable: folders that it may read.
        hidden: folders below these that it may not.
        own_id: whether it gets a user id of its own; only root can give one.
        without: mechanisms that are left out, so that a test can show what each is for.
    """

    isolation: Isolation
    folder: str
    readable: tuple[str, ...] = ()
    hidden: tuple[str, ...] = ()
    own_id: bool = True
    without: frozenset[str] = frozenset()


@dataclasses.dataclass
class Held:
    """What came of entering.

    Attributes:
        mechanisms: those that hold, each with what is worth saying of it.
        missing: those that could not be had, each with the reason.
    """

    mechanisms: dict[str, str] = dataclasses.field(default_factory=dict)
    missing: dict[str, str] = dataclasses.field(default_factory=dict)


def enter(limits: Limits, wanted: Confinement, sock: int, output: int, status: int) -> Held:
    """Shut this process in; returns in the process that may run student code.

    With namespaces that is a grandchild of the calling process; the two others stay behind, and end
    with it.

    Args:
        limits: what it may take.
        wanted: how it is shut in.
        sock: the descriptor that it answers on, and the only one that it keeps.
        output: where its standard output and error go.
        status: where the caller will say how entering went.

    Raises:
        SandboxError: a mechanism without which there is no such isolation cannot be had.
    """
    os.setsid()
    die_with_parent()
    held = Held()
    close = "descriptors" not in wanted.without
    keep_only(sock, output, status, close)
    if close:
        held.mechanisms["descriptors"] = ""
    process = os.getpid()
    mapped = mapped_bytes()
    prefer_to_be_killed()
    spaces = wanted.isolation == "namespaces"
    if spaces:
        _enter_namespaces(wanted, held)
    else:
        os.chdir(wanted.folder)
        os.environ.update(dict.fromkeys(("HOME", "TMPDIR", "TEMP"), wanted.folder))
    if not spaces and (os.geteuid() != 0 or not wanted.own_id):
        # The limit counts all that the user runs.
        limits = dataclasses.replace(limits, tasks=limits.tasks + tasks_of_user())
    if "limits" not in wanted.without and enter_limits(limits, mapped):
        held.mechanisms["limits"] = ""
    if wanted.isolation != "none":
        _give_up_rights(wanted, held, candidates(process))
        _filter(wanted, held, own_files=spaces and "filesystem" not in wanted.without)
    elif IS_LINUX and os.geteuid() == 0:
        _be_another_user(wanted, held, candidates(process))
    return held


def _enter_namespaces(wanted: Confinement, held: Held) -> None:
    left_out = frozenset(kind for kind in KINDS if f"{kind} namespace" in wanted.without)
    how = unshare(left_out)
    for kind in KINDS:
        if kind not in left_out:
            held.mechanisms[f"{kind} namespace"] = "" if how == "root" else "in a user namespace"
    if "filesystem" in wanted.without or "mount" in left_out:
        os.chdir(wanted.folder)
    else:
        change_root(wanted.folder, wanted.readable, wanted.hidden)
        held.mechanisms["filesystem"] = ""
        os.environ.update(HOME=HOME, TMPDIR=HOME, TEMP=HOME)
    if "pid" not in left_out:
        become_first_of_its_processes()


def _give_up_rights(wanted: Confinement, held: Held, ids: list[int]) -> None:
    bounded = "capabilities" not in wanted.without
    if bounded:
        drop_bounding_set()
    if os.geteuid() != 0:
        held.missing["identity"] = "only root can give a worker a user id of its own"
    elif not wanted.own_id:
        held.missing["identity"] = "other users may not read the installed packages"
    elif "identity" not in wanted.without:
        try:
            take_own_id(ids, None if "filesystem" in held.mechanisms else wanted.folder)
            held.mechanisms["identity"] = ""
        except SandboxError as error:
            held.missing["identity"] = error.reason
        if wanted.isolation != "namespaces":
            die_with_parent()  # changing the id has undone it
    if bounded:
        drop_capabilities()
        held.mechanisms["capabilities"] = ""
    if "no_new_privs" not in wanted.without:
        forbid_new_privileges()
        held.mechanisms["no_new_privs"] = ""


def _be_another_user(wanted: Confinement, held: Held, ids: list[int]) -> None:
    """Without a sandbox: at least not root, as far as the system allows that."""
    if "identity" in wanted.without:
        return
    if not wanted.own_id:
        held.missing["identity"] = "other users may not read the installed packages"
        return
    try:
        take_own_id(ids, wanted.folder)
        held.mechanisms["identity"] = ""
        die_with_parent()  # changing the id has undone it
        forbid_new_privileges()
        held.mechanisms["no_new_privs"] = ""
    except SandboxError as error:
        held.missing[error.mechanism] = error.reason


def _filter(wanted: Confinement, held: Held, own_files: bool) -> None:
    if "landlock" not in wanted.without:
        try:
            version = restrict(*_allowed(wanted, own_files))
            held.mechanisms["landlock"] = f"version {version}"
        except SandboxError as error:
            if not own_files:
                raise
            held.missing["landlock"] = error.reason
    if "seccomp" not in wanted.without:
        filter_calls(own_files)
        held.mechanisms["seccomp"] = ""


def _allowed(wanted: Confinement, own_root: bool) -> tuple[list[str], list[str], tuple[str, ...]]:
    """What may be read, what may be changed, and what is hidden."""
    if own_root:
        return ["/"], [HOME, "/dev/null"], ()
    system = [*filesystem.existing(filesystem.SYSTEM_FOLDERS), *filesystem.SYSTEM_FILES]
    devices = [f"/dev/{name}" for name in filesystem.DEVICES]
    return [*system, *devices, *wanted.readable], [wanted.folder, "/dev/null"], wanted.hidden


def best_level() -> Isolation:
    """The isolation that is worth trying first on this system."""
    return "namespaces" if IS_LINUX else "none"
