"""What of a submission's modules a worker runs, and what its author is told of the rest."""

import ast
import re
from collections.abc import Iterable, Iterator
from enum import Enum
from functools import cache
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
        if way is not Way.EVERYTHING:
            kept = self._selection(source.path, way).kept
        for chunk, indexes in zip(source.chunks, kept, strict=True):
            yield [chunk.first_line, chunk.text, None if indexes is None else list(indexes)]

    def _select(self, path: str, way: Way) -> Selection:
        source = self._submission.sources[path]
        if source in self._modules:
            wanted = self._names | self._imported_from(source)
        else:
            wanted = self._mentioned(source)
        return select(source, wanted, only_now=way is Way.DEFINED)

    def _imported_from(self, source: Source) -> set[str]:
        """The names that other modules of the submission import from one."""
        return {
            alias.name
            for other in self._submission.sources.values()
            for node in ast.walk(other.tree)
            if isinstance(node, ast.ImportFrom) and (node.module or "").endswith(source.stem)
            for alias in node.names
        }

    def _mentioned(self, source: Source) -> set[str]:
        """What a helper defines, and whatever else of it another module mentions in any way."""
        found: set[str] = set()
        for other in self._submission.sources.values():
            if other.path != source.path:
                for node in ast.walk(other.tree):
                    if isinstance(node, ast.alias):
                        found.add(node.name)
                    elif isinstance(node, ast.Attribute):
                        found.add(node.attr)
                    elif isinstance(node, ast.Name):
                        found.add(node.id)
        return found | {n for n, s in definitions(source).items() if isinstance(s, DEFINITIONS)}

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
            sources = self._submission.sources.values()
            return [tuple(tuple(range(len(t.body))) for t in source.trees) for source in sources]
        return [self._selection(path, way).kept for path in self._submission.sources]

    def defined(self) -> set[str]:
        """Those of the graded names that the graded modules define, as far as the source shows."""
        return {name for module in self._modules for name in definitions(module)} & self._names

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
