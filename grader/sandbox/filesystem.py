"""Files: a root of the worker's own that holds libraries, read-only, and one small folder to write.

There is no /proc, no /sys and no /etc of the machine in it, and nothing of the caller's.
"""

import ctypes
import os
from collections.abc import Iterable, Sequence

from grader.sandbox.system import SandboxError, call, syscall

HOME = "/tmp"  # where a worker may write; also its home and working directory
DEVICES = ("null", "zero", "random", "urandom")
SYSTEM_FOLDERS = ("/usr/lib", "/usr/lib64", "/lib", "/lib64")
SYSTEM_FILES = ("/etc/ld.so.cache",)
ROOT_BYTES = 4 * 2**20
HOME_BYTES = 64 * 2**20
HOME_FILES = 2_000

RDONLY, NOSUID, NODEV, NOEXEC, REMOUNT, BIND = 1, 2, 4, 8, 32, 4096
REC, PRIVATE = 16384, 1 << 18
DETACH = 2
AT_FDCWD, AT_RECURSIVE = -100, 0x8000
MOUNT_SETATTR = 442  # on every architecture
LOCKED = 0x2 | 0x4 | 0x8 | 0x400 | 0x800 | 0x200000  # flags of statvfs that a bind has to keep


class _MountAttributes(ctypes.Structure):
    _fields_ = [(name, ctypes.c_uint64) for name in ("set", "clear", "propagation", "user")]


def change_root(folder: str, readable: Sequence[str], hidden: Iterable[str]) -> None:
    """Give this process, in a mount namespace of its own, a root with only what is named.

    Args:
        folder: an empty folder, which the new root is mounted on.
        readable: folders that are there, read-only, under their own names.
        hidden: folders below these that are empty.

    Raises:
        SandboxError: the system does not allow it.
    """
    try:
        _mount(None, "/", None, REC | PRIVATE)
        _mount(
            "tmpfs", folder, "tmpfs", NOSUID | NODEV, f"mode=755,size={ROOT_BYTES},nr_inodes=4096"
        )
        _make_home(folder)  # first, since what is readable may lie below it
        bound = _outermost([*existing(SYSTEM_FOLDERS), *readable])
        for path in bound:
            _bind(folder, path)
        for path in hidden:
            if any(is_below(path, outer) for outer in bound) and os.path.isdir(folder + path):
                _mount("tmpfs", folder + path, "tmpfs", RDONLY | NOSUID | NODEV, "mode=555,size=4k")
        for path in SYSTEM_FILES:
            if os.path.isfile(path):
                _bind(folder, path)
        _make_devices(folder)
        _mount(None, folder, None, REMOUNT | BIND | RDONLY | NOSUID | NODEV)
        os.chdir(folder)
        call("pivot_root", b".", b".")
        call("umount2", b".", DETACH)
        os.chdir(HOME)
    except OSError as error:
        raise SandboxError("filesystem", error.strerror or "refused") from None


def existing(folders: Iterable[str]) -> list[str]:
    """Those of the folders that there are."""
    return [folder for folder in folders if os.path.isdir(folder)]


def _outermost(paths: Iterable[str]) -> list[str]:
    """The paths without those that lie below another."""
    kept: list[str] = []
    for path in sorted(set(paths), key=len):
        if not any(path == outer or is_below(path, outer) for outer in kept):
            kept.append(path)
    return kept


def is_below(path: str, folder: str) -> bool:
    """Whether a path lies below a folder."""
    return path.startswith(folder.rstrip("/") + "/")


def _bind(root: str, path: str) -> None:
    """Make a path of the machine available below `root`, read-only; a link stays a link."""
    target = root + path
    os.makedirs(os.path.dirname(target), exist_ok=True)
    if os.path.islink(path) and not os.path.lexists(target):
        os.symlink(os.readlink(path), target)
        return
    if os.path.isdir(path):
        os.makedirs(target, exist_ok=True)
    else:
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o444))
    _mount(path, target, None, BIND | REC)
    attributes = _MountAttributes(RDONLY | NOSUID | NODEV, 0, 0, 0)
    try:
        syscall(
            MOUNT_SETATTR, AT_FDCWD, target.encode(), AT_RECURSIVE,
            ctypes.byref(attributes), ctypes.sizeof(attributes),
        )  # fmt: skip
    except OSError:  # a kernel before 5.12
        flags = os.statvfs(target).f_flag & LOCKED
        _mount(None, target, None, REMOUNT | BIND | RDONLY | NOSUID | NODEV | flags)


def _make_devices(root: str) -> None:
    os.makedirs(f"{root}/dev")
    for name in DEVICES:
        target = f"{root}/dev/{name}"
        os.close(os.open(target, os.O_CREAT | os.O_WRONLY, 0o666))
        _mount(f"/dev/{name}", target, None, BIND)
    os.symlink(HOME, f"{root}/dev/shm")


def _make_home(root: str) -> None:
    os.makedirs(root + HOME)
    options = f"mode=1777,size={HOME_BYTES},nr_inodes={HOME_FILES}"
    _mount("tmpfs", root + HOME, "tmpfs", NOSUID | NODEV | NOEXEC, options)


def _mount(
    source: str | None, target: str, kind: str | None, flags: int, options: str | None = None
) -> None:
    texts = [None if text is None else text.encode() for text in (source, target, kind, options)]
    call("mount", *texts[:3], ctypes.c_ulong(flags), texts[3])
