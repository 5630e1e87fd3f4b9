"""Reads a notebook: its code cells in order, without what only a notebook's shell understands."""

import ast
import logging
import re
import warnings

from grader.errors import InputError
from grader.intake.submission import Chunk, Location, Note, Source

ASSIGNED = re.compile(r"(\s*[\w, ]+?)\s*=\s*[!%]")  # x = !ls, x = %pwd
KEPT_CELL_MAGICS = {"%%time", "%%timeit", "%%capture", "%%prun"}  # their body is plain Python


def read(path: str, text: str) -> tuple[Source, list[Note]]:
    """The notebook as one source, a chunk a cell, and what was left out of it.

    Lines that start with `!` or `%` are blanked, so that line numbers stay. A cell that is not
    Python even then is left out, and the others stay.

    Raises:
        InputError: it is not a notebook, or no cell of it is Python.
    """
    chunks: list[Chunk] = []
    notes: list[Note] = []
    line = 1
    cells = _cells(path, text)
    for number, source in cells:
        try:
            kept, skipped = _plain_python(source)
        except SyntaxError as error:
            where = Location(path, error.lineno or 1, number)
            notes.append(Note("skipped", f"Not Python, left out: {error.msg}.", where))
            continue
        for row, what in skipped:
            notes.append(Note("skipped", f"Left out: {what}", Location(path, row, number)))
        chunks.append(Chunk(line, kept, number))
        line += kept.count("\n")
    if not chunks:
        if notes:
            first = notes[0]
            raise InputError(f"No cell of {path} is valid Python ({first.location}).", path)
        raise InputError(f"The notebook {path} has no code cell.", path)
    return Source(path, tuple(chunks)), notes


def _cells(path: str, text: str) -> list[tuple[int, str]]:
    """The code cells with their numbers among all cells."""
    import nbformat  # slow to import, and only notebooks need it

    logging.getLogger("nbformat").setLevel(logging.CRITICAL)
    logging.getLogger("traitlets").setLevel(logging.CRITICAL)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            notebook = nbformat.reads(text, as_version=4)  # type: ignore[no-untyped-call]
        return [
            (number, _text(cell.source))
            for number, cell in enumerate(notebook.cells, start=1)
            if cell.cell_type == "code"
        ]
    except Exception as error:  # nbformat lets through whatever malformed JSON runs it into
        reason = str(error).splitlines()[0][:100] if str(error) else type(error).__name__
        raise InputError(
            f"{path} is not a notebook that can be read ({reason}): "
            "open it in Jupyter and save it again.",
            path,
        ) from None


def _text(source: object) -> str:
    text = "".join(source) if isinstance(source, list) else str(source)
    text = text.replace("\r\n", "\n").replace("\r", "\n")
    return text if text.endswith("\n") else text + "\n"


def _plain_python(source: str) -> tuple[str, list[tuple[int, str]]]:
    """The cell as plain Python with the same line numbers, and what was blanked: line and text.

    A line is blanked only where the parser stumbles over it, so what merely looks like a magic,
    inside a string or a broken-up expression, stays.

    Raises:
        SyntaxError: it is no Python.
    """
    lines = source.split("\n")
    skipped = []
    first = next((index for index, line in enumerate(lines) if line.strip()), 0)
    if lines[first].lstrip().startswith("%%"):
        skipped.append((first + 1, lines[first].strip()[:80]))
        if lines[first].split()[0] not in KEPT_CELL_MAGICS:
            return "\n" * source.count("\n"), skipped
        lines[first] = ""
    while True:
        text = "\n".join(lines)
        try:
            _parse(text)
        except SyntaxError as error:
            row = _shell_line(lines, (error.lineno or 1) - 1)
            if row is None:
                raise
            skipped.append((row + 1, lines[row].strip()[:80]))
            _blank(lines, row)
        else:
            return text, skipped


def _shell_line(lines: list[str], near: int) -> int | None:
    """The line at the parser's complaint, or before it, that is for a notebook's shell."""
    for row in (near, near - 1):
        if 0 <= row < len(lines):
            stripped = lines[row].strip()
            if stripped.startswith(("!", "%", "?")) or ASSIGNED.match(lines[row]):
                return row
            if stripped.endswith("?") and " " not in stripped:
                return row
    return None


def _blank(lines: list[str], row: int) -> None:
    """Replace a shell line, with the lines that continue it, by what does nothing in its place."""
    assigned = ASSIGNED.match(lines[row])
    indent = lines[row][: len(lines[row]) - len(lines[row].lstrip())]
    continued = lines[row].rstrip().endswith("\\")
    lines[row] = f"{assigned[1]} = None" if assigned else indent + "pass"
    while continued and row + 1 < len(lines):
        row += 1
        continued = lines[row].rstrip().endswith("\\")
        lines[row] = ""


def _parse(text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except (ValueError, RecursionError, MemoryError) as error:
        raise SyntaxError(str(error) or type(error).__name__) from None
