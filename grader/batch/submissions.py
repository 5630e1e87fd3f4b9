"""Which submissions some paths hold, and the name of each."""

import re
from dataclasses import dataclass
from pathlib import Path

from grader.errors import InputError
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

    Two with the same name get different ids, so that none overwrites the other.

    Args:
        paths: files and folders.
        out: where reports are written; it is no submission.

    Raises:
        InputError: a path is not there, or a folder holds no submission.
    """
    found: list[Path] = []
    for path in paths:
        if not path.exists():
            raise InputError(f"There is no file or folder {path}: check the path.")
        if path.is_file():
            found.append(path)
            continue
        children = [child for child in sorted(path.iterdir()) if _is_submission(child)]
        if out is not None:
            children = [child for child in children if child.resolve() != out.resolve()]
        if not children:
            raise InputError(
                f"The folder {path} holds no submission: each should be a .py file, an .ipynb "
                "notebook or a folder in it."
            )
        found.extend(children)
    taken: set[str] = set()
    result = []
    for path in found:
        name = re.sub(r"[^\w.\-]+", "_", path.name)[:MAX_NAME] or "submission"
        number, unique = 1, name
        while unique.casefold() in taken:
            number += 1
            unique = f"{name}-{number}"
        taken.add(unique.casefold())
        result.append(Found(unique, path))
    return result


def _is_submission(path: Path) -> bool:
    if path.name.startswith(".") or path.name in IGNORED:
        return False
    return path.is_dir() or path.suffix in ENDINGS
