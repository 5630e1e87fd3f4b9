"""The folder of a class: files that are whole or not there, its secret, and one run at a time.

OUT/gradebook.sqlite   every grading, append-only; what the rest is made from
OUT/gradebook.csv      a line a submission, as it stands now
OUT/reports/ID.json    the report of each, with the marks that a person gave
OUT/marks.json         those marks
OUT/.secret            what the class's inputs are drawn from
OUT/.lock              held by the run that writes here
"""

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO

from grader.errors import InputError

STORE = "gradebook.sqlite"
GRADEBOOK = "gradebook.csv"
REPORTS = "reports"
MARKS = "marks.json"  # what persons gave; it outlives every regrading
SECRET = ".secret"  # what the inputs of a class are drawn from
LOCK = ".lock"


def report_file(out: Path, submission: str) -> Path:
    """Where the report of a submission lies."""
    return out / REPORTS / f"{submission}.json"


def make_folder(folder: Path) -> None:
    """Make a folder, with those above it; raises InputError."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{folder} cannot be made a folder: {error.strerror}.") from None


@contextmanager
def alone_in(out: Path) -> Iterator[None]:
    """Have no other run write to a class's folder meanwhile.

    The system gives the lock back when this process ends, however it ends.

    Raises:
        InputError: another run has it, or the folder cannot be written to.
    """
    path = out / LOCK
    try:
        file = open(path, "a", encoding="utf-8")  # noqa: SIM115 (closed below)
    except OSError as error:
        raise InputError(f"{out} cannot be written to: {error.strerror}.") from None
    with file:
        if not _lock(file):
            raise InputError(
                f"Another run is writing to {out}: wait until it has ended, or name another --out."
            )
        yield


def _lock(file: IO[str]) -> bool:
    """Lock an open file, unless another process has; where the system has no locks, do nothing."""
    try:
        import fcntl
    except ImportError:
        return _lock_on_windows(file)
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    except OSError:
        pass  # a file system without locks
    return True


def _lock_on_windows(file: IO[str]) -> bool:
    import importlib

    msvcrt = importlib.import_module("msvcrt")
    try:
        msvcrt.locking(file.fileno(), msvcrt.LK_NBLCK, 1)
    except OSError:
        return False
    return True


def class_secret(out: Path) -> str:
    """What the inputs of a class are drawn from: made at its first grading, and kept.

    So nobody can know them beforehand, all of the class get the same, and grading again gives the
    same reports.

    Args:
        out: the class's folder; the secret lies in it, readable by its owner alone.

    Raises:
        InputError: it cannot be read or written.
    """
    path = out / SECRET
    try:
        with open(path, encoding="ascii") as file:
            kept = file.read().strip()
        if kept:
            return kept
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    made = secrets.token_hex(16)
    write_atomically(path, made + "\n", mode=0o600)
    return made


def write_atomically(
    path: Path, content: str | bytes, mode: int = 0o666, outlasts_power: bool = True
) -> None:
    """Write a file so that it is there whole, or not at all, whatever ends this process.

    Args:
        path: the file, which is replaced; what is no file is written to.
        content: what is in it; text is written in UTF-8.
        mode: who may read it, as far as the process's mask allows.
        outlasts_power: whether it has to be on the disk when this returns, so that a power cut
            changes nothing either; not where it can be made anew, since that takes milliseconds.

    Raises:
        InputError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    data = content.encode() if isinstance(content, str) else content
    try:
        if path.exists() and not path.is_file():  # a pipe or a device, whose entry has to stay
            path.write_bytes(data)
            return
        temporary.unlink(missing_ok=True)  # left by a run that was killed, or a link by somebody
        descriptor = os.open(temporary, os.O_CREAT | os.O_EXCL | os.O_WRONLY, mode)
        with open(descriptor, "wb") as file:
            file.write(data)
            if outlasts_power:
                file.flush()
                os.fsync(file.fileno())
        temporary.replace(path)
        if outlasts_power:
            _keep_name(path.parent)
    except OSError as error:
        try:
            temporary.unlink(missing_ok=True)
        except OSError:
            pass  # why it could not be written says enough
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def bring_to_disk() -> None:
    """Have everything that was written be on the disk."""
    if hasattr(os, "sync"):
        os.sync()  # Windows has none


def _keep_name(folder: Path) -> None:
    """Have the disk keep the names in a folder, too: a file's own fsync keeps its contents."""
    if not hasattr(os, "O_DIRECTORY"):
        return  # Windows cannot
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
