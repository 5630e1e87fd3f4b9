"""Turns the bytes of files into a `Submission`: decodes, parses, and notes what was left out."""

import ast
import codecs
import hashlib
import io
import tokenize
import warnings
from collections.abc import Mapping

from grader.errors import InputError
from grader.intake import notebook
from grader.intake.submission import Chunk, Location, Note, Source, Submission

ENCODINGS = {"utf-8", "utf-8-sig", "ascii", "iso8859-1", "iso8859-15", "cp1252"}


def read(files: Mapping[str, bytes], name: str) -> Submission:
    """The submission that these files are.

    Args:
        files: contents by path relative to the submission's root.
        name: what the submission is called in reports.

    Raises:
        InputError: not one of the files can be read as Python.
    """
    sources: dict[str, Source] = {}
    broken: dict[str, Note] = {}
    notes: list[Note] = []
    for path, data in files.items():
        try:
            source, more = _read_source(path, data)
        except InputError as error:
            where = Location(error.file or path, error.line, error.cell)
            broken[path] = Note("skipped", str(error), where)
        else:
            sources[path] = source
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


def _read_source(path: str, data: bytes) -> tuple[Source, list[Note]]:
    text = _decode(path, data)
    if path.endswith(".ipynb") or _is_notebook(text):
        return notebook.read(path, text)
    if not text.endswith("\n"):
        text += "\n"
    _check_syntax(path, text)
    return Source(path, (Chunk(1, text),)), []


def _decode(path: str, data: bytes) -> str:
    """The text, by its BOM or coding line, with newlines as Python reads them."""
    if data.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    else:
        try:
            encoding, _ = tokenize.detect_encoding(io.BytesIO(data).readline)
        except SyntaxError:
            encoding = "utf-8"
    if encoding != "utf-16" and codecs.lookup(encoding).name not in ENCODINGS:
        raise InputError(f"{path} is in the encoding {encoding}: save it as UTF-8.", path)
    try:
        text = data.decode(encoding)
    except UnicodeDecodeError:
        text = data.decode("iso8859-1")
    return text.removeprefix("\ufeff").replace("\r\n", "\n").replace("\r", "\n")


def _is_notebook(text: str) -> bool:
    """Whether a file is a notebook's JSON, whatever its ending says."""
    return text.lstrip().startswith("{") and '"cells"' in text and '"nbformat"' in text


def _check_syntax(path: str, text: str) -> None:
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        line = error.lineno or 1
        shown = text.splitlines()[line - 1].strip() if line <= len(text.splitlines()) else ""
        raise InputError(
            f"{path}, line {line} is not valid Python ({error.msg}): {shown[:120]}", path, line
        ) from None
    except (ValueError, RecursionError, MemoryError) as error:
        raise InputError(
            f"{path} cannot be parsed ({error or type(error).__name__}).", path
        ) from None
