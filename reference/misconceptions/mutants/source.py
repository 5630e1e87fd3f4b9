"""A mutant: the reference with a line or two of its source replaced, runnable as a submission."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

import reference

FOLDER = Path(reference.__file__).parent
IMPORT = re.compile(r"^from reference\.(\w+) import", re.MULTILINE)
MODULE = "submission"  # as a change's file: the module that is graded, which imports the others


@dataclass(frozen=True)
class Change:
    """A piece of source that is replaced by another.

    Attributes:
        file: the module of the reference, such as "attention"; or `MODULE`.
        old: what stands there; exactly once.
        new: what takes its place.
    """

    file: str
    old: str
    new: str

    @property
    def lines(self) -> int:
        """How many lines of source it takes away or puts there, whichever is more."""
        before, after = self.old.splitlines(), self.new.splitlines()
        kept = sum(line in before for line in after)
        return max(len(before), len(after)) - kept


@dataclass(frozen=True)
class Mutant:
    """A wrong implementation: the reference with a few changes.

    Attributes:
        name: the misconception's id; "id/variant" where there are several ways to make it; "id+id"
            where two mistakes are made at once.
        assignments: those whose submissions can make it.
        changes: what is changed.
        also: further ids that are a right diagnosis, since no behaviour tells them apart.
        right: whether it is not wrong by itself, and loses nothing.
    """

    name: str
    assignments: tuple[str, ...]
    changes: tuple[Change, ...]
    also: tuple[str, ...] = ()
    right: bool = False

    @property
    def ids(self) -> tuple[str, ...]:
        """The misconceptions that it makes."""
        return tuple(part.partition("/")[0] for part in self.name.split("+"))

    @property
    def is_variant(self) -> bool:
        """Whether it is a further way to make a single mistake."""
        return "/" in self.name and "+" not in self.name

    def is_first_in(self, assignment: str) -> bool:
        """Whether it is the usual way to make its mistake, in the assignment that it belongs to."""
        return "/" not in self.name and "+" not in self.name and self.assignments[0] == assignment

    @property
    def expected(self) -> frozenset[str]:
        """The ids of which a report should name one."""
        return frozenset((*self.ids, *self.also))

    @property
    def lines(self) -> int:
        """How many lines are changed."""
        return sum(change.lines for change in self.changes)


def both(first: Mutant, second: Mutant) -> Mutant:
    """Two mistakes at once, for the assignments that know both."""
    return Mutant(
        f"{first.name}+{second.name}",
        tuple(a for a in first.assignments if a in second.assignments),
        first.changes + second.changes,
        first.also + second.also,
    )


def submission_files(
    module: str, names: Iterable[str], mutant: Mutant | None = None
) -> dict[str, bytes]:
    """The reference as a submission: a folder of its modules, and one that imports from them.

    Args:
        module: the name of the assignment's module, without ending.
        names: the definitions that the assignment asks for.
        mutant: what is changed; None for nothing, which is right.

    Returns:
        Contents by path.

    Raises:
        ValueError: a change does not fit the source.
    """
    homes = {name: _home(name) for name in names}
    imports = [f"from reference.{home} import {name}\n" for name, home in homes.items()]
    texts = {MODULE: "".join(imports)}
    waiting = list(homes.values())
    while waiting:
        home = waiting.pop()
        if home not in texts:
            texts[home] = (FOLDER / f"{home}.py").read_text(encoding="utf-8")
            waiting += IMPORT.findall(texts[home])
    changes = () if mutant is None else mutant.changes
    missing = {change.file for change in changes} - texts.keys()
    if missing:
        raise ValueError(f"{', '.join(sorted(missing))}: no part of this submission")
    return {
        f"{module if home == MODULE else home}.py": _as_neighbour(
            apply(text, [change for change in changes if change.file == home])
        ).encode()
        for home, text in texts.items()
    }


def apply(text: str, changes: Iterable[Change]) -> str:
    """The text with each change made; their places are found in the text as it was.

    Raises:
        ValueError: what is to be replaced does not occur exactly once, or two changes overlap.
    """
    places = []
    for change in changes:
        if text.count(change.old) != 1:
            raise ValueError(f"{change.file}: {text.count(change.old)} times {change.old!r}")
        start = text.index(change.old)
        places.append((start, start + len(change.old), change.new))
    places.sort(reverse=True)
    for (start, _, _), (_, end, new) in zip(places, places[1:], strict=False):
        if end > start:
            raise ValueError(f"two changes overlap, at {new!r}")
    for start, end, new in places:
        text = text[:start] + new + text[end:]
    return text


def _home(name: str) -> str:
    """The module of the reference that defines a name."""
    module: str = getattr(reference, name).__module__
    return module.rpartition(".")[2]


def _as_neighbour(text: str) -> str:
    """The text with its imports from the package turned into imports from the same folder."""
    return text.replace("from reference.", "from ")
