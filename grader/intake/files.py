"""Gathers what was handed in: from a file, a folder or an archive, within limits, by relative path.

Nothing is unpacked to disk, and no link is followed.
"""

import os
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath

from grader.errors import InputError
from grader.intake import archives
from grader.intake.archives import Entry
from grader.intake.submission import Location, Note
from grader.intake.text import writable

ENDINGS = (".py", ".ipynb")
LONG_ENDINGS = {".py.txt": ".py", ".ipynb.txt": ".ipynb", ".ipynb.json": ".ipynb"}
MAX_FILES = 400
MAX_FILE_BYTES = {".py": 2 * 2**20, ".ipynb": 20 * 2**20}  # a notebook may hold images
MAX_TOTAL_BYTES = 50 * 2**20
MAX_ARCHIVE_BYTES = 500 * 2**20
MAX_DEPTH = 12
MAX_NOTES = 20
IGNORED = {"__pycache__", "__MACOSX", "node_modules", "site-packages", "dist-packages"}
SPARE = {"venv", "env", "build", "dist"}  # looked into where nothing else is to be had
WANTED = f"a {ENDINGS[0]} file, an {ENDINGS[1]} notebook, or a folder or zip that holds one"


@dataclass(frozen=True)
class Gathered:
    """What was handed in.

    Attributes:
        files: contents by relative path, sorted by it.
        notes: what was left out that its author may have meant to hand in.
    """

    files: dict[str, bytes]
    notes: tuple[Note, ...] = ()


def gather(path: Path) -> dict[str, bytes]:
    """The Python files and notebooks of a submission: contents by relative path, sorted.

    Args:
        path: a `.py` file, a notebook, a zip or tar archive, or a folder that holds such.

    Raises:
        InputError: there is nothing to read, or more than the limits allow.
    """
    return collect(path).files


def collect(path: Path, inside: Mapping[str, str] | None = None) -> Gathered:
    """What a path holds, with notes on what was left out.

    Args:
        path: a file, an archive or a folder.
        inside: the part of it that is meant: from path in the submission to path in the archive or
            folder; a folder stands for all that is in it. All by default.

    Raises:
        InputError: there is nothing to read, or more than the limits allow.
    """
    if not path.exists():
        raise InputError(f"There is no file or folder {path}: check the path.")
    if not path.is_file() and not path.is_dir():
        raise InputError(f"{path} is neither a file nor a folder.")
    name = writable(os.fsdecode(path.name) or str(path))
    if path.is_dir():
        found, what = _folder(path), f"The folder {path}"
        if inside is not None:
            found, inside = _chosen(path, inside), dict(zip(inside, inside, strict=True))
    else:
        head = _head(path)
        if archives.is_archive(head):
            if path.stat().st_size > MAX_ARCHIVE_BYTES:
                raise InputError(f"{name} has more than {MAX_ARCHIVE_BYTES // 2**20} MB.")
            found, what = archives.entries(path, name), f"The archive {name}"
        else:
            if ending(name) is None:
                raise InputError(f"{name} is not Python: hand in {WANTED}.")
            found, what = iter([_on_disk(path.resolve(), name)]), name
    if inside is None:
        return _gathered(found, what, may_nest=path.is_dir())
    return _gathered(_part(found, inside), "The submission", may_nest=True)


def ending(name: str) -> str | None:
    """What a file is by its name: ".py", ".ipynb", or None."""
    lowered = name.lower()
    for long, short in LONG_ENDINGS.items():
        if lowered.endswith(long):
            return short
    return next((short for short in ENDINGS if lowered.endswith(short)), None)


def plain_name(name: str) -> str:
    """A file's name with the ending that Python files and notebooks have: `a.py` for `a.PY.txt`."""
    for long, short in LONG_ENDINGS.items():
        if name.lower().endswith(long):
            return name[: -len(long)] + short
    short = ending(name) or ""
    return name[: len(name) - len(short)] + short


def is_junk(name: str) -> bool:
    """Whether a path is of the kind that systems and tools leave behind: caches, hidden files."""
    parts = [part for part in PurePosixPath(name).parts if part != ".."]
    return any(part in IGNORED or part.startswith(".") for part in parts)


def _head(path: Path) -> bytes:
    try:
        with open(path, "rb") as file:
            return file.read(512)
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None


def _on_disk(path: Path, name: str) -> Entry:
    def read(limit: int) -> bytes:
        try:
            with open(path, "rb") as file:
                return file.read(limit)
        except OSError as error:
            raise InputError(f"{path} cannot be read: {error.strerror}.") from None

    return Entry(name, path.lstat().st_size, read, "a link" if path.is_symlink() else None)


def _folder(root: Path) -> Iterator[Entry]:
    """The files in a folder and those below it, but for virtual environments and what is junk."""
    for folder, subfolders, names in os.walk(root):
        here = Path(folder).relative_to(root)
        if "pyvenv.cfg" in names or len(here.parts) > MAX_DEPTH:
            subfolders.clear()
            continue
        subfolders[:] = sorted(name for name in subfolders if not is_junk(name))
        for name in sorted(names):
            path = Path(folder, name)
            if path.is_symlink() or path.is_file():
                yield _on_disk(path, (here / name).as_posix())


def _chosen(root: Path, inside: Mapping[str, str]) -> Iterator[Entry]:
    """Those files of a folder that are meant, by their names in the submission."""
    for ours, theirs in inside.items():
        path = root / theirs
        if path.is_dir() and not path.is_symlink():
            for entry in _folder(path):
                yield replace(entry, name=f"{ours}/{entry.name}".lstrip("/"))
        elif path.is_file() or path.is_symlink():
            yield _on_disk(path, ours)


def _part(found: Iterator[Entry], inside: Mapping[str, str]) -> Iterator[Entry]:
    """Those of the entries that are meant, by their names in the submission."""
    for entry in found:
        for ours, theirs in inside.items():
            if entry.name == theirs:
                name = ours or PurePosixPath(theirs).name
            elif entry.name.startswith(f"{theirs}/") or not theirs:
                name = f"{ours}/{entry.name.removeprefix(theirs)}".replace("//", "/").strip("/")
            else:
                continue
            yield replace(entry, name=name)


def _gathered(found: Iterable[Entry], what: str, may_nest: bool) -> Gathered:
    """The Python among the entries; one archive in their place is looked into where it may be."""
    taken = _Taken(what)
    packed: list[tuple[str, bytes]] = []
    for entry in found:
        name = writable(entry.name.encode("utf-8", "surrogateescape").decode("utf-8", "replace"))
        if is_junk(name):
            continue
        if ending(name) is not None:
            taken.take(name, entry)
        elif name.lower().endswith(archives.ENDINGS) and not entry.left_out:
            fits = entry.size <= MAX_TOTAL_BYTES and may_nest and len(packed) < 2
            packed.append((name, entry.read(MAX_TOTAL_BYTES) if fits else b""))
    gathered = taken.gathered()
    if gathered.files:
        notes = [
            Note("skipped", "An archive beside the Python files: left out.", Location(name))
            for name, _ in packed
        ]
        return Gathered(gathered.files, (*gathered.notes, *notes)[:MAX_NOTES])
    if not packed:
        hint = f" ({gathered.notes[0].message})" if gathered.notes else ""
        raise InputError(f"{what} holds no .py file and no .ipynb notebook{hint}.")
    names = ", ".join(name for name, _ in packed)[:200]
    if not may_nest:
        raise InputError(f"{what} holds an archive again ({names}): unpack it once, and zip that.")
    if len(packed) > 1:
        raise InputError(f"{what} holds several archives ({names}): hand in one of them.")
    (name, data) = packed[0]
    if not archives.is_archive(data[:512]):
        raise InputError(f"{name} is no archive that can be read: hand in {WANTED}.")
    inner = PurePosixPath(name).name
    return _gathered(archives.entries(data, inner), f"The archive {inner}", may_nest=False)


class _Taken:
    """The files taken so far, within limits."""

    def __init__(self, what: str) -> None:
        self._what = what
        self._files: dict[str, bytes] = {}
        self._spare: dict[str, bytes] = {}
        self._notes: list[Note] = []
        self._too_large: list[tuple[str, int]] = []
        self._total = 0

    def take(self, name: str, entry: Entry) -> None:
        """Read one file, or note why not.

        Raises:
            InputError: there are too many of them, or too much in them.
        """
        if entry.left_out:
            self._notes.append(Note("skipped", f"Left out: {entry.left_out}.", Location(name)))
            return
        parts = PurePosixPath(name).parts
        if len(parts) > MAX_DEPTH:
            return
        is_spare = any(part in SPARE for part in parts[:-1])
        target = self._spare if is_spare else self._files
        if is_spare and len(target) >= MAX_FILES:
            return
        if len(target) >= MAX_FILES:
            raise InputError(
                f"{self._what} holds more than {MAX_FILES} Python files: hand in only your own."
            )
        limit = MAX_FILE_BYTES[ending(name) or ENDINGS[0]]
        data = b"" if entry.size > limit else entry.read(limit + 1)
        if max(entry.size, len(data)) > limit:
            self._too_large.append((name, max(entry.size, len(data))))
            return
        self._total += len(data)
        if self._total > MAX_TOTAL_BYTES:
            raise InputError(
                f"{self._what} holds more than {MAX_TOTAL_BYTES // 2**20} MB of source: "
                "hand in only your own."
            )
        target.setdefault(plain_name(name), data)

    def gathered(self) -> Gathered:
        """What was taken.

        Raises:
            InputError: all there is is too large.
        """
        files = self._files or self._spare
        if not files and self._too_large:
            name, size = self._too_large[0]
            limit = MAX_FILE_BYTES[ending(name) or ENDINGS[0]] // 2**20
            raise InputError(
                f"{name} has {size / 2**20:.1f} MB, more than {limit} MB: clear the notebook's "
                "outputs, or leave data out of the source."
            )
        large = [
            Note("skipped", f"Left out, since it has {size / 2**20:.1f} MB.", Location(name))
            for name, size in self._too_large
        ]
        return Gathered(dict(sorted(files.items())), (*self._notes, *large))
