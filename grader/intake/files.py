"""Gathers the bytes of a submission from disk, within limits; follows no link out of it."""

import os
from pathlib import Path

from grader.errors import InputError

ENDINGS = (".py", ".ipynb")
MAX_FILES = 400
MAX_FILE_BYTES = {".py": 2 * 2**20, ".ipynb": 20 * 2**20}  # a notebook may hold images
MAX_TOTAL_BYTES = 50 * 2**20
MAX_DEPTH = 12
IGNORED = {
    "__pycache__", "__MACOSX", "node_modules", "site-packages", "venv", "env", "build", "dist",
}  # fmt: skip


def gather(path: Path) -> dict[str, bytes]:
    """The Python files and notebooks of a submission: contents by relative path, sorted.

    Args:
        path: a `.py` file, a notebook, or a folder that holds them.

    Raises:
        InputError: there is nothing to read, or more than the limits allow.
    """
    if not path.exists():
        raise InputError(f"There is no file or folder {path}: check the path.")
    if path.is_file():
        if path.suffix not in ENDINGS:
            raise InputError(
                f"{path.name} is not Python: hand in a .py file, an .ipynb notebook, "
                "or a folder that holds one."
            )
        return {_name(Path(path.name)): _read(path)}
    if not path.is_dir():
        raise InputError(f"{path} is neither a file nor a folder.")
    files = {_name(found.relative_to(path)): found for found in _walk(path)}
    if not files:
        raise InputError(f"The folder {path} holds no .py file and no .ipynb notebook.")
    if len(files) > MAX_FILES:
        raise InputError(
            f"The folder {path} holds {len(files)} Python files, more than {MAX_FILES}: "
            "hand in only your own."
        )
    contents: dict[str, bytes] = {}
    total = 0
    for name in sorted(files):
        if len(files) > 1 and not _fits(files[name]):
            continue  # a data set or a generated file beside the work
        contents[name] = _read(files[name])
        total += len(contents[name])
        if total > MAX_TOTAL_BYTES:
            raise InputError(
                f"The folder {path} holds more than {MAX_TOTAL_BYTES // 2**20} MB of source: "
                "hand in only your own."
            )
    return contents


def _walk(root: Path) -> list[Path]:
    found = []
    for folder, subfolders, names in os.walk(root):
        depth = len(Path(folder).relative_to(root).parts)
        subfolders[:] = [] if depth >= MAX_DEPTH else sorted(filter(_wanted, subfolders))
        for name in names:
            path = Path(folder, name)
            if (
                _wanted(name)
                and path.suffix in ENDINGS
                and path.is_file()
                and not path.is_symlink()
            ):
                found.append(path)
    return found


def _wanted(name: str) -> bool:
    return name not in IGNORED and not name.startswith(".")


def _name(path: Path) -> str:
    """A relative path as text that can be written down."""
    return path.as_posix().encode("utf-8", "surrogateescape").decode("utf-8", "replace")


def _fits(path: Path) -> bool:
    return path.stat().st_size <= MAX_FILE_BYTES[path.suffix]


def _read(path: Path) -> bytes:
    try:
        if not _fits(path):
            raise InputError(
                f"{path.name} has {path.stat().st_size / 2**20:.1f} MB, more than "
                f"{MAX_FILE_BYTES[path.suffix] // 2**20} MB: clear the notebook's outputs, or "
                "leave data out of the source."
            )
        return path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
