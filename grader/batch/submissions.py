"""Which submissions some paths hold, and the name of each."""

import re
from dataclasses import dataclass
from pathlib import Path

from grader.intake.files import ENDINGS, IGNORED

MAX_NAME = 80  # characters, so that a file's name stays below 255 bytes whatever its script


@dataclass(frozen=True)
class Found:
    """A submission on disk.

    Attributes:
        id: unique in the batch, and fit for a file's name.
        path: its file or folder.
    """

    id: str
    path: Path


def find_submissions(paths: list[Path], out: Path | None = None) -> list[Found]:
    """The submissions that the paths hold: a file is one, and so is each child of a folder.

    Two with the same name get different ids, so that none overwrites the other. A path that is not
    there, or a folder that holds nothing, counts as one submission, so that its report says so.

    Args:
        paths: files and folders.
        out: where reports are written; it is no submission.
    """
    found: list[Path] = []
    for path in paths:
        children = sorted(path.iterdir()) if path.is_dir() else []
        children = [c for c in children if _is_submission(c) and not _is_same(c, out)]
        found.extend(children or [path])
    taken: set[str] = set()
    result = []
    for path in found:
        name = re.sub(r"[^\w.\-]+", "_", path.resolve().name)[:MAX_NAME] or "submission"
        number, unique = 1, name
        while unique.casefold() in taken:
            number += 1
            unique = f"{name}-{number}"
        taken.add(unique.casefold())
        result.append(Found(unique, path))
    return result


def left_out(paths: list[Path]) -> list[str]:
    """The names of files in the folders that are no submission, hidden ones aside."""
    children = [child for path in paths if path.is_dir() for child in sorted(path.iterdir())]
    return [
        c.name
        for c in children
        if c.is_file() and not c.name.startswith(".") and not _is_submission(c)
    ]


def _is_same(path: Path, other: Path | None) -> bool:
    return other is not None and path.resolve() == other.resolve()


def _is_submission(path: Path) -> bool:
    if path.name.startswith(".") or path.name in IGNORED:
        return False
    return path.is_dir() or path.suffix in ENDINGS
