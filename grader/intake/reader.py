"""Turns the bytes of files into a `Submission`: decodes, parses, and notes what was left out."""

import hashlib
import re
from collections.abc import Iterable, Mapping

from grader.errors import InputError
from grader.intake import notebook
from grader.intake.cells import read_cell
from grader.intake.notebook import CONFLICT, conflict
from grader.intake.submission import Chunk, Location, Note, Source, Submission
from grader.intake.text import decode, hidden_directions, parse, shown_line, writable

SHELL = re.compile(r"^[ \t]*[!%]\w", re.MULTILINE)


def read(files: Mapping[str, bytes], name: str, notes: Iterable[Note] = ()) -> Submission:
    """The submission that these files are.

    Args:
        files: contents by path relative to the submission's root.
        name: what the submission is called in reports.
        notes: what its reader should know already.

    Raises:
        InputError: not one of the files can be read as Python.
    """
    sources: dict[str, Source] = {}
    broken: dict[str, Note] = {}
    notes = list(notes)
    for path, data in files.items():
        try:
            found, more = _read_sources(path, data)
        except InputError as error:
            where = Location(error.file or path, error.line, error.cell)
            defines = tuple(notebook.DEFINED.findall(data.decode("utf-8", "replace")))
            broken[path] = Note("skipped", str(error), where, defines)
        else:
            for source in found:  # a file counts more than what a notebook writes in its place
                if source.path not in files or source.path == path:
                    sources[source.path] = source
            notes.extend(more)
    if not sources:
        first = next(iter(broken.values()))
        assert first.location is not None
        raise InputError(
            first.message, first.location.file, first.location.line, first.location.cell
        )
    return Submission(name, digest(files), sources, broken, tuple(notes))


def digest(files: Mapping[str, bytes]) -> str:
    """A digest over names and contents: "sha256:" and 64 hexadecimal digits."""
    total = hashlib.sha256()
    for path in sorted(files):
        for part in (path.encode("utf-8", "surrogateescape"), files[path]):
            total.update(len(part).to_bytes(8, "big"))
            total.update(part)
    return f"sha256:{total.hexdigest()}"


def _read_sources(path: str, data: bytes) -> tuple[list[Source], list[Note]]:
    """The sources that a file holds: one, and for a notebook those that it writes."""
    text = decode(path, data)
    if path.endswith(".ipynb") or _is_notebook(text):
        return notebook.read(path, text)
    if not text.endswith("\n"):
        text += "\n"
    text, skipped = _as_python(path, text)
    notes = [Note("skipped", f"Left out: {what}", Location(path, row)) for row, what in skipped]
    notes += [
        Note("review", f"{name} makes this line read otherwise than it runs.", Location(path, line))
        for line, name in hidden_directions(text)
    ]
    return [Source(path, (Chunk(1, text),))], notes


def _is_notebook(text: str) -> bool:
    """Whether a file is a notebook's JSON, whatever its ending says."""
    has_cells = '"cells"' in text or '"worksheets"' in text
    return text.lstrip().startswith("{") and has_cells and '"nbformat"' in text


def _as_python(path: str, text: str) -> tuple[str, list[tuple[int, str]]]:
    """The text as Python, and what was left out: shell lines of a notebook saved as a module."""
    try:
        if SHELL.search(text):
            cell = read_cell(text)
            return cell.text, cell.skipped
        parse(text)
        return text, []
    except SyntaxError as error:
        if CONFLICT.search(text):
            raise conflict(path, text) from None
        line, reason = error.lineno, writable(error.msg)
        if line is None:
            raise InputError(f"{path} cannot be parsed ({reason}).", path) from None
        shown = shown_line(text, line)
        raise InputError(
            f"{path}, line {line} is not valid Python ({reason}): {shown}", path, line
        ) from None
