"""Reads a notebook: its code cells in order, as plain Python with every line where it was."""

import json
import logging
import re
import warnings
from collections.abc import Iterator
from pathlib import PurePosixPath
from typing import Any

from grader.errors import InputError
from grader.intake.cells import read_cell
from grader.intake.submission import Chunk, Location, Note, Source
from grader.intake.text import hidden_directions, writable

DEFINED = re.compile(r"^[ \t]*(?:class|def|async def)[ \t]+(\w+)", re.MULTILINE)
CONFLICT = re.compile(r"^[ \t\"]*(?:<{7}|>{7})(?: |\\n|$)", re.MULTILINE)


def read(path: str, text: str) -> tuple[list[Source], list[Note]]:
    """The notebook as one source, a chunk a cell, and what was left out of it.

    Shell lines and magics are blanked, so that line numbers stay. A cell that is no Python even
    then is left out, and the others stay. A cell that writes itself to a `.py` file is a source of
    its own, before the notebook's, as if the file lay beside the notebook.

    Raises:
        InputError: it is not a notebook, or no cell of it is Python.
    """
    chunks: list[Chunk] = []
    notes: list[Note] = []
    written: dict[str, list[Chunk]] = {}
    line = 1
    for number, source in _cells(path, text):
        try:
            cell = read_cell(source)
        except SyntaxError as error:
            where = Location(path, error.lineno or 1, number)
            message = f"Not Python, left out: {writable(error.msg)}."
            notes.append(Note("skipped", message, where, tuple(DEFINED.findall(source))))
            continue
        for row, shown in cell.skipped:
            what = "Written to a file of its own" if cell.file else "Left out"
            notes.append(Note("skipped", f"{what}: {shown}", Location(path, row, number)))
        for row, name in hidden_directions(cell.text):
            message = f"{name} makes this line read otherwise than it runs."
            notes.append(Note("review", message, Location(path, row, number)))
        if cell.file is not None:
            name = str(PurePosixPath(path).parent / cell.file)
            earlier = written.get(name, []) if cell.appends else []
            end = sum(chunk.text.count("\n") for chunk in earlier)
            written[name] = [*earlier, Chunk(end + 1, cell.text, number)]
        else:
            chunks.append(Chunk(line, cell.text, number))
            line += cell.text.count("\n")
    if not chunks and not written:
        raise _nothing(path, notes)
    sources = [Source(name, tuple(parts), path) for name, parts in written.items()]
    return [*sources, *([Source(path, tuple(chunks))] if chunks else [])], notes


def _nothing(path: str, notes: list[Note]) -> InputError:
    broken = next((note for note in notes if note.location), None)
    if broken is None or broken.location is None:
        return InputError(f"The notebook {path} has no code cell.", path)
    place = broken.location
    return InputError(f"No cell of {path} is valid Python ({place}).", path, place.line, place.cell)


def _cells(path: str, text: str) -> Iterator[tuple[int, str]]:
    """The code cells with their numbers among all cells, counted from 1.

    Raises:
        InputError: it is no notebook.
    """
    try:
        data = json.loads(text)
    except (ValueError, RecursionError) as error:
        if CONFLICT.search(text):
            raise conflict(path, text) from None
        reason = str(error).split(":")[0] if isinstance(error, ValueError) else "nested too deeply"
        where = f", line {error.lineno}" if isinstance(error, json.JSONDecodeError) else ""
        raise _unreadable(path, f"{writable(reason)[:80]}{where}") from None
    has_version = isinstance(data, dict) and "nbformat" in data
    cells = (_upgraded(text) if has_version else None) or _as_they_are(data)
    if cells is None:
        raise _unreadable(path, "it holds no cells")
    for number, (kind, source) in enumerate(cells, start=1):
        if kind == "code":
            yield number, _text(source)


def conflict(path: str, text: str) -> InputError:
    """The refusal of a text that holds the markers of a merge conflict."""
    found = CONFLICT.search(text)
    line = text.count("\n", 0, found.start()) + 1 if found else 1
    return InputError(
        f"{path} holds the markers of a merge conflict (line {line}): decide for one side in a "
        "text editor, and save it again.",
        path,
        line,
    )


def _unreadable(path: str, reason: str) -> InputError:
    return InputError(
        f"{path} is not a notebook that can be read ({reason}): "
        "open it in Jupyter and save it again.",
        path,
    )


def _upgraded(text: str) -> list[tuple[str, object]] | None:
    """Kind and source of each cell, by nbformat's upgrade to version 4; None if that fails."""
    import nbformat  # slow to import, and only notebooks need it

    logging.getLogger("nbformat").setLevel(logging.CRITICAL)
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
        return [(cell.cell_type, cell.source) for cell in notebook.cells]
    except Exception:  # nbformat lets through whatever malformed JSON runs it into
        return None


def _as_they_are(data: Any) -> list[tuple[str, object]] | None:
    """Kind and source of each cell of JSON that is no valid notebook but has cells."""
    if not isinstance(data, dict):
        return None
    sheets = data.get("worksheets")
    held = data.get("cells")
    if held is None and isinstance(sheets, list):
        held = [
            cell for sheet in sheets if isinstance(sheet, dict) for cell in sheet.get("cells", [])
        ]
    if not isinstance(held, list):
        return None
    return [
        (str(cell.get("cell_type")), cell.get("source", cell.get("input", "")))
        for cell in held
        if isinstance(cell, dict)
    ]


def _text(source: object) -> str:
    text = "".join(map(str, source)) if isinstance(source, list) else str(source)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") else text + "\n"
