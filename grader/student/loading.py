"""What of a submission's modules a worker runs, and what its author is told of the rest."""

import ast
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache, cached_property
from pathlib import PurePosixPath
from typing import Any

from grader.intake import Note, Source, Submission
from grader.intake.definitions import DEFINITIONS, definitions
from grader.intake.selection import Selection, select

DEVICES = re.compile(r"\b(?:cuda|mps|xpu)\b|\.to\(\s*(?:device\s*=\s*)?\d")
MAX_RANGES = 12  # of lines or cells in a note


class Way(Enum):
    """How much of the code at top level is run."""

    NEEDED = "what is needed"  # definitions, and what they need now or when they are called
    DEFINED = "what defines"  # without what functions need only when they are called
    EVERYTHING = "everything"


class _Mentions:
    """The names that a module mentions.

    Attributes:
        imported: parts of the names of modules, and names, that it imports.
        from_modules: by the last part of a module's name, what it imports from that.
        names: every name, attribute and imported name.
    """

    def __init__(self, source: Source) -> None:
        self.imported: set[str] = set()
        self.from_modules: dict[str, set[str]] = {}
        self.names: set[str] = set()
        for node in ast.walk(source.tree):
            match node:
                case ast.Import(names=aliases):
                    self.imported.update(p for alias in aliases for p in alias.name.split("."))
                case ast.ImportFrom(module=module, names=aliases):
                    parts = (module or "").split(".")
                    names = {alias.name for alias in aliases}
                    self.imported.update(parts, names)
                    self.from_modules.setdefault(parts[-1], set()).update(names)
                    self.names |= names
                case ast.Attribute(attr=name) | ast.Name(id=name):
                    self.names.add(name)


def _module_name(source: Source) -> str:
    """The last part of the name under which a module is imported."""
    return PurePosixPath(source.path).parent.name if source.stem == "__init__" else source.stem


class Plan:
    """Which statements a worker runs of each module.

    Args:
        submission: what was handed in.
        modules: the modules that are graded.
        names: the definitions that are graded.
    """

    def __init__(self, submission: Submission, modules: list[Source], names: set[str]) -> None:
        self._submission = submission
        self._modules = modules
        self._names = names
        self._selection = cache(self._select)

    def arguments(self, way: Way) -> dict[str, Any]:
        """The arguments of the worker's operation "load"."""
        sources = self._submission.sources
        graded = [module.path for module in self._modules]
        return {
            "sources": {path: list(self._chunks(source, way)) for path, source in sources.items()},
            "modules": graded,
            "tolerant": [p for p, source in sources.items() if source.is_notebook or p in graded],
            "names": sorted(self._names),
            "root_name": self._submission.name,
            "on_cpu": any(DEVICES.search(c.text) for s in sources.values() for c in s.chunks),
        }

    def _chunks(self, source: Source, way: Way) -> Iterator[list[Any]]:
        kept: Iterable[tuple[int, ...] | None] = [None] * len(source.chunks)
        if way is not Way.EVERYTHING and source.path in self._reached:
            kept = self._selection(source.path, way).kept
        for chunk, indexes in zip(source.chunks, kept, strict=True):
            yield [chunk.first_line, chunk.text, None if indexes is None else list(indexes)]

    @cached_property
    def _reached(self) -> dict[str, "_Mentions"]:
        """The graded modules and those that they import, directly or not, by path.

        A module counts as imported where an import mentions its name, so this finds a few too many.
        What nothing imports is not looked at, however much of it there is.
        """
        found: dict[str, _Mentions] = {}
        waiting = list(self._modules)
        while waiting:
            source = waiting.pop()
            if source.path not in found:
                found[source.path] = _Mentions(source)
                imported = found[source.path].imported
                others = self._submission.sources.values()
                waiting.extend(other for other in others if _module_name(other) in imported)
        return found

    def _select(self, path: str, way: Way) -> Selection:
        source = self._submission.sources[path]
        others = [m for other, m in self._reached.items() if other != path]
        if source in self._modules:
            name = _module_name(source)
            wanted = self._names.union(*(m.from_modules.get(name, ()) for m in others))
        else:  # what it defines, and whatever else of it another module mentions in any way
            wanted = {n for n, s in definitions(source).items() if isinstance(s, DEFINITIONS)}
            wanted = wanted.union(*(m.names for m in others))
        return select(source, wanted, only_now=way is Way.DEFINED)

    def looks_up_by_name(self) -> bool:
        """Whether graded code can look names up that are nowhere written as such."""
        return any(self._selection(m.path, Way.NEEDED).by_name for m in self._modules)

    def makes_names(self) -> bool:
        """Whether what is left out can define names that are nowhere written as such."""
        return any(self._selection(m.path, Way.NEEDED).makes_names for m in self._modules)

    def differ(self, way: Way, other: Way) -> bool:
        """Whether one way runs other statements than another."""
        return self._run(way) != self._run(other)

    def _run(self, way: Way) -> list[tuple[tuple[int, ...], ...]]:
        """The indexes of the statements that are run of each module."""
        if way is Way.EVERYTHING:
            sources = [self._submission.sources[path] for path in self._reached]
            return [tuple(tuple(range(len(t.body))) for t in source.trees) for source in sources]
        return [self._selection(path, way).kept for path in self._reached]

    def defined(self) -> set[str]:
        """Those of the graded names that the graded modules define, as far as the source shows."""
        return {name for module in self._modules for name in definitions(module)} & self._names

    def statements(self, way: Way) -> Iterator[tuple[Source, list[ast.stmt]]]:
        """The top-level statements that are run of each graded module and of what it imports."""
        for path, kept in zip(self._reached, self._run(way), strict=True):
            source = self._submission.sources[path]
            chunks = zip(source.trees, kept, strict=True)
            yield source, [tree.body[index] for tree, indexes in chunks for index in indexes]

    def notes(self, way: Way) -> Iterator[Note]:
        """What its author is told of the statements that were not run."""
        if way is Way.EVERYTHING:
            return
        for module in self._modules:
            left_out = self._selection(module.path, way).left_out
            if left_out:
                places = [module.locate(statement.lineno) for statement in left_out]
                if module.is_notebook:
                    spans = [(place.cell or 0, place.cell or 0) for place in places]
                else:
                    spans = [(s.lineno, s.end_lineno or s.lineno) for s in left_out]
                what = "cell" if module.is_notebook else "line"
                message = f"Not run, since nothing that is graded needs it: {_ranges(what, spans)}."
                yield Note("skipped", message, places[0])


def _ranges(what: str, spans: list[tuple[int, int]]) -> str:
    """The spans as text, those that touch as one: "lines 3–7, 12"."""
    merged = [spans[0]]
    for first, last in spans[1:]:
        if first <= merged[-1][1] + 1:
            merged[-1] = (merged[-1][0], max(last, merged[-1][1]))
        else:
            merged.append((first, last))
    texts = [f"{a}" if a == b else f"{a}–{b}" for a, b in merged[:MAX_RANGES]]
    more = f" and {len(merged) - MAX_RANGES} more" if len(merged) > MAX_RANGES else ""
    plural = "s" if len(merged) > 1 or "–" in texts[0] else ""
    return f"{what}{plural} {', '.join(texts)}{more}"
