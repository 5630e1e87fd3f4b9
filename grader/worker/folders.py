"""A worker's folder, where it lies on the machine's disk: is it too full, and away with it.

Only standard library. Student code may have put anything there, so no link is followed, and neither
depth nor number of files costs more than it should.
"""

import os
import secrets
import shutil
import stat

MAX_BYTES = 256 * 2**20
MAX_FILES = 4_000


def overflows(folder: str) -> bool:
    """Whether there is more in a folder than a worker may put there."""
    size = files = 0
    waiting = [folder]
    while waiting:
        try:
            entries = os.scandir(waiting.pop())
        except OSError as error:
            if isinstance(error, FileNotFoundError):
                continue
            return True  # a path that is too long, or a folder that may not be looked into
        with entries:
            for entry in entries:
                files += 1
                try:
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
                    else:
                        size += entry.stat(follow_symlinks=False).st_blocks * 512
                except OSError:
                    continue  # it has gone
                if files > MAX_FILES or size > MAX_BYTES:
                    return True
    return False


def holds_unlinked(pid: int) -> bool:
    """Whether a process holds open more than it may of files that have no name any more."""
    size = 0
    try:
        numbers = os.listdir(f"/proc/{pid}/fd")
    except OSError:
        return False
    for number in numbers:
        try:
            status = os.stat(f"/proc/{pid}/fd/{number}")
        except OSError:
            continue
        if stat.S_ISREG(status.st_mode) and status.st_nlink == 0:
            size += status.st_blocks * 512
    return size > MAX_BYTES


def remove(folder: str) -> None:
    """Remove a folder and all that is in it, however deep; does nothing where there is none.

    Folders inside folders are moved up before they are emptied, so that no path is long.
    """
    if not hasattr(os, "O_DIRECTORY"):  # Windows opens no folders
        shutil.rmtree(folder, ignore_errors=True)
        return
    try:
        top = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    except OSError:
        return
    try:
        while names := os.listdir(top):
            for name in names:
                _empty(top, name)
        os.rmdir(folder)
    except OSError:
        pass  # somebody else removes it, too, or may not
    finally:
        os.close(top)


def _empty(top: int, name: str) -> None:
    """Remove what goes by `name` in a folder; folders in it are moved up, under new names."""
    if not stat.S_ISDIR(os.stat(name, dir_fd=top, follow_symlinks=False).st_mode):
        os.unlink(name, dir_fd=top)
        return
    os.chmod(name, 0o700, dir_fd=top)
    inner = os.open(name, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW, dir_fd=top)
    try:
        for child in os.listdir(inner):
            if stat.S_ISDIR(os.stat(child, dir_fd=inner, follow_symlinks=False).st_mode):
                os.chmod(child, 0o700, dir_fd=inner)
                os.rename(child, secrets.token_hex(8), src_dir_fd=inner, dst_dir_fd=top)
            else:
                os.unlink(child, dir_fd=inner)
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=top)
