"""Namespaces: mounts, process ids, network, IPC, host name and control groups of a worker's own."""

import os
import signal
import struct
from typing import NoReturn

from grader.sandbox.system import SandboxError, call, die_with_parent, write_to

NEWNS, NEWCGROUP, NEWUTS, NEWIPC = 0x00020000, 0x02000000, 0x04000000, 0x08000000
NEWUSER, NEWPID, NEWNET = 0x10000000, 0x20000000, 0x40000000
KINDS = {
    "mount": NEWNS,
    "pid": NEWPID,
    "network": NEWNET,
    "ipc": NEWIPC,
    "uts": NEWUTS,
    "cgroup": NEWCGROUP,
}
HOST_NAME = b"sandbox"
_STATUS = struct.Struct("i")


def unshare(without: frozenset[str] = frozenset()) -> str:
    """Leave the caller's namespaces; returns how: "root", or "user" with a user namespace.

    Root needs no user namespace; where it may not go without one, and for everybody else, the
    caller's own id is mapped to itself in a new one.

    Args:
        without: namespaces that are left out, by the names in `KINDS`.

    Raises:
        SandboxError: the system does not allow it.
    """
    flags = sum(flag for name, flag in KINDS.items() if name not in without)
    how = ""
    if os.geteuid() == 0:
        try:
            call("unshare", flags)
            how = "root"
        except OSError:
            pass
    if not how:
        user, group = os.geteuid(), os.getegid()
        try:
            call("unshare", flags | NEWUSER)
            write_to("/proc/self/setgroups", "deny")
            write_to("/proc/self/uid_map", f"{user} {user} 1")
            write_to("/proc/self/gid_map", f"{group} {group} 1")
        except OSError as error:
            raise SandboxError("namespaces", error.strerror or "refused") from None
        how = "user"
    if "uts" not in without:
        try:
            call("sethostname", HOST_NAME, len(HOST_NAME))
        except OSError as error:
            raise SandboxError("namespaces", f"host name: {error.strerror}") from None
    return how


def become_first_of_its_processes() -> None:
    """Go on as a grandchild: the first process of the namespace is between, and reaps.

    The calling process and the first one stay behind, without descriptors, and end with the
    worker, as it ended. Killing the calling process kills the first one, and that takes with it
    everything in the namespace.
    """
    read, write = os.pipe()
    first = os.fork()
    if first:
        os.close(write)
        _close_all_but(read)
        status = _read_status(read)
        os.waitpid(first, 0)
        _end_as(status)
    die_with_parent()
    os.close(read)
    worker = os.fork()
    if worker:
        _close_all_but(write)
        while True:
            pid, status = os.wait()
            if pid == worker:
                os.write(write, _STATUS.pack(status))
                os._exit(0)
    os.close(write)
    os.setsid()


def _read_status(read: int) -> int:
    data = b""
    while part := os.read(read, _STATUS.size - len(data)):
        data += part
    return int(_STATUS.unpack(data)[0]) if len(data) == _STATUS.size else int(signal.SIGKILL)


def _close_all_but(kept: int) -> None:
    os.closerange(0, kept)
    os.closerange(kept + 1, 256)


def _end_as(status: int) -> NoReturn:
    """End this process the way that `status` says another one ended."""
    if os.WIFSIGNALED(status):
        number = os.WTERMSIG(status)
        if number not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(number, signal.SIG_DFL)
        signal.pthread_sigmask(signal.SIG_UNBLOCK, [number])
        os.kill(os.getpid(), number)
    os._exit(os.WEXITSTATUS(status) if os.WIFEXITED(status) else 1)
