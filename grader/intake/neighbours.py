"""Which files beside a module it imports, so that a student can name the one module alone."""

import ast
from collections.abc import Iterator
from pathlib import Path

from grader.errors import InputError
from grader.intake.files import MAX_FILES, Gathered, collect
from grader.intake.reader import read
from grader.intake.submission import Source


def with_neighbours(path: Path) -> Gathered:
    """A module or notebook, with the modules and packages of its folder that it imports.

    Args:
        path: a file.

    Raises:
        InputError: the file itself cannot be read as a submission.
    """
    gathered = collect(path)
    files = dict(gathered.files)
    looked_at: set[str] = set()
    waiting = list(files)
    while waiting:
        name = waiting.pop()
        looked_at.add(name)
        try:
            sources = read({name: files[name]}, name).sources.values()
        except InputError:
            continue  # what is broken will be told when all of it is read
        for top in {top for source in sources for top in _imported(source)}:
            for found, data in _beside(path.parent, top):
                if found not in files and len(files) < MAX_FILES:
                    files[found] = data
                    waiting.append(found)
    return Gathered(dict(sorted(files.items())), gathered.notes)


def _imported(source: Source) -> Iterator[str]:
    """The first parts of the names of the modules that a module imports."""
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            if node.module:
                yield node.module.split(".")[0]
            else:  # from . import layers
                yield from (alias.name for alias in node.names)


def _beside(folder: Path, name: str) -> Iterator[tuple[str, bytes]]:
    """The files of a module or package in a folder, by path relative to it."""
    for path in (folder / f"{name}.py", folder / f"{name}.ipynb", folder / name):
        if path.is_symlink() or not path.exists():
            continue
        try:
            held = collect(path).files
        except InputError:
            continue
        for inner, data in held.items():
            yield (f"{name}/{inner}" if path.is_dir() else inner), data
