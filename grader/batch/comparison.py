"""Two gradings of a class beside each other: whose grade changed, and why."""

from collections.abc import Iterator
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from grader.batch.folder import MARKS
from grader.batch.gradebook import ClassRow, Marked
from grader.batch.store import Kept, Store
from grader.errors import InputError
from grader.grading.marks import load_marks
from grader.report.summary import Loss, Summary
from grader.report.terminal import points


@dataclass(frozen=True)
class Change:
    """A submission whose grade is not the same in both.

    Attributes:
        before: its points in the first, None where it is not there or was not graded.
        after: likewise in the second.
        causes: what is different: its code, the assignment, the grader, the inputs, marks.
        rows: what became of each row whose points changed, in words.
    """

    submission: str
    student: str
    before: Decimal | None
    after: Decimal | None
    causes: tuple[str, ...]
    rows: tuple[str, ...] = ()


@dataclass(frozen=True)
class _Side:
    """A submission in one of the two."""

    kept: Kept
    row: ClassRow
    is_marked: bool


class Class:
    """A class as its folder has it, to be compared. Use it in a `with` statement, or `close` it.

    Args:
        out: the folder.
    """

    def __init__(self, out: Path) -> None:
        self._store = Store(out)
        self.assignment = self._store.assignment
        self._marked = Marked(self._store, load_marks(out / MARKS))

    def sides(self) -> Iterator[_Side]:
        """Every submission."""
        return map(self._side, self._store.latest())

    def of(self, submission: str) -> _Side | None:
        """One submission; None where it is not there."""
        kept = self._store.latest_of(submission)
        return None if kept is None else self._side(kept)

    def _side(self, kept: Kept) -> _Side:
        row = ClassRow(kept.handed, self._marked.summary(kept))
        return _Side(kept, row, self._marked.has_marks(row.id))

    def close(self) -> None:
        """Close its store."""
        self._store.close()

    def __enter__(self) -> "Class":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def compare(first: Path, second: Path) -> Iterator[Change | None]:
    """Compare two gradings of a class; submissions are paired by their id.

    Args:
        first: the folder of the one.
        second: the folder of the other.

    Yields:
        A change for every submission whose grade is not the same, None for every other.

    Raises:
        InputError: a folder holds no class, or they are for different assignments.
    """
    with Class(first) as ours, Class(second) as theirs:
        if ours.assignment != theirs.assignment:
            raise InputError(
                f"{first} holds results of {ours.assignment}, {second} of {theirs.assignment}: "
                "name two gradings of one assignment."
            )
        for before in ours.sides():
            after = theirs.of(before.row.id)
            yield _change(before, after) if after else _only(before, f"only in {first}", True)
        for after in theirs.sides():
            if ours.of(after.row.id) is None:
                yield _only(after, f"only in {second}", False)


def _only(side: _Side, cause: str, is_first: bool) -> Change:
    score = _grade(side.row.summary)
    before, after = (score, None) if is_first else (None, score)
    return Change(side.row.id, side.row.handed.student, before, after, (cause,))


def _change(before: _Side, after: _Side) -> Change | None:
    ours, theirs = before.row.summary, after.row.summary
    is_same = (ours.score, ours.max_score) == (theirs.score, theirs.max_score)
    if ours.status == theirs.status and (is_same or ours.status != "graded"):
        return None
    return Change(
        before.row.id,
        after.row.handed.student,
        _grade(ours),
        _grade(theirs),
        tuple(_causes(before, after)),
        tuple(_rows(ours, theirs)),
    )


def _grade(summary: Summary) -> Decimal | None:
    """The points, None where they are no grade."""
    return summary.score if summary.status == "graded" else None


def _causes(before: _Side, after: _Side) -> Iterator[str]:
    """What is different in what the two gradings hang on."""
    ours, theirs = before.kept.circumstances, after.kept.circumstances
    if before.kept.digest != after.kept.digest:
        yield "other code was handed in"
    if ours.assignment != theirs.assignment:
        yield "the assignment changed"
    if ours.grader != theirs.grader:
        yield f"the grader changed, from {ours.grader} to {theirs.grader}"
    if ours.seed != theirs.seed:
        yield "inputs were drawn from another secret"
    if before.is_marked or after.is_marked:
        yield "a person's marks"
    for name, summary in (("first", before.row.summary), ("second", after.row.summary)):
        if summary.status != "graded":
            yield f"in the {name}, {summary.remark}"


def _rows(before: Summary, after: Summary) -> Iterator[str]:
    """What became of each row whose points changed."""
    for name in dict.fromkeys((*before.losses, *after.losses)):
        ours, theirs = before.losses.get(name), after.losses.get(name)
        if (ours and ours.score) != (theirs and theirs.score):
            yield f"{name}: {_told(ours)} → {_told(theirs)}"


def _told(loss: Loss | None) -> str:
    if loss is None:
        return "passed"
    named = f" ({loss.misconception})" if loss.misconception else ""
    score = f", {points(loss.score)} points" if loss.score else ""
    return f"{loss.status}{score}{named}"
