"""What a submission is once it has been read: named sources, and where each line came from."""

import ast
import warnings
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import PurePosixPath


@dataclass(frozen=True)
class Location:
    """A line of a submission's file, or of a cell of its notebook (both counted from 1)."""

    file: str
    line: int | None = None
    cell: int | None = None

    def __str__(self) -> str:
        if self.line is None:
            return self.file
        place = f"cell {self.cell}, line {self.line}" if self.cell else f"line {self.line}"
        return f"{self.file}, {place}"


@dataclass(frozen=True)
class Note:
    """Something about a submission that its reader should know.

    Attributes:
        kind: "skipped", "review", "disallowed" or "note".
        message: a sentence.
        location: the place concerned, or None.
        defines: what a part that could not be read looks to define.
    """

    kind: str
    message: str
    location: Location | None = None
    defines: tuple[str, ...] = ()


@dataclass(frozen=True)
class Chunk:
    """A part of a source that is executed by itself: a whole `.py` file, or one notebook cell.

    Attributes:
        first_line: its first line in the whole source, counted from 1.
        text: Python source, ending in a newline.
        cell: the cell's number among all cells of the notebook, counted from 1, or None.
    """

    first_line: int
    text: str
    cell: int | None = None


@dataclass(frozen=True)
class Source:
    """One module of a submission.

    Attributes:
        path: relative to the submission's root, with forward slashes.
        chunks: in order; together they are the source.
        written_in: path of the notebook whose cells write this module, or None.
    """

    path: str
    chunks: tuple[Chunk, ...]
    written_in: str | None = None

    @property
    def is_notebook(self) -> bool:
        """Whether it came from a notebook."""
        return any(chunk.cell is not None for chunk in self.chunks)

    @cached_property
    def trees(self) -> tuple[ast.Module, ...]:
        """The chunks' syntax trees, with line numbers of the whole source."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            found = [ast.parse(chunk.text) for chunk in self.chunks]
        for tree, chunk in zip(found, self.chunks, strict=True):
            ast.increment_lineno(tree, chunk.first_line - 1)
        return tuple(found)

    @cached_property
    def tree(self) -> ast.Module:
        """The syntax tree, with line numbers of the whole source."""
        return ast.Module([s for tree in self.trees for s in tree.body], type_ignores=[])

    def locate(self, line: int) -> Location:
        """Where a line of the whole source stands in the file: its line, or cell and line."""
        for chunk in reversed(self.chunks):
            if chunk.cell is not None and chunk.first_line <= line:
                line = line - chunk.first_line + 1
                return Location(self.written_in or self.path, line, chunk.cell)
        return Location(self.path, line)

    @property
    def stem(self) -> str:
        """The file's name without its ending."""
        return PurePosixPath(self.path).stem


@dataclass(frozen=True)
class Submission:
    """What a student handed in, read but not run.

    Attributes:
        name: what it is called in reports: the file's or folder's name.
        digest: "sha256:…" over names and contents of its files.
        sources: by path, those that can be parsed.
        broken: by path, why a source cannot be parsed: message and place.
        notes: what was left out, and why.
    """

    name: str
    digest: str
    sources: dict[str, Source]
    broken: dict[str, Note] = field(default_factory=dict)
    notes: tuple[Note, ...] = ()

    def locate(self, file: str, line: int) -> Location:
        """Where a line of a source stands in what was handed in."""
        source = self.sources.get(file)
        return source.locate(line) if source else Location(file, line)
