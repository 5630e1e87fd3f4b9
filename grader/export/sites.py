"""A class joined with a site's own export or a class list, for the gradebooks that sites import."""

import csv
import html
import io
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import PurePosixPath

from grader.batch.gradebook import ClassRow
from grader.batch.roster import Roster, Row
from grader.errors import InputError
from grader.export.base import Source
from grader.export.scores import rescaled
from grader.report.cells import cell, one_line
from grader.report.terminal import points

LISTED = 40  # ids that a sentence names


@dataclass(frozen=True)
class Student:
    """A line of the site's file.

    Attributes:
        key: an id of the student.
        columns: what the site's export or the class list says of them.
        graded: their submission; None where there is none, or where two could be meant.
    """

    key: str
    columns: dict[str, str]
    graded: ClassRow | None

    @property
    def summary(self) -> str:
        """What their feedback says, in one line."""
        if self.graded is None:
            return ""
        summary = self.graded.summary
        score = f"{points(summary.score)} of {points(summary.max_score)} points"
        parts = ", ".join(f"{name} {points(value)}" for name, value in summary.milestones.items())
        return one_line(". ".join(part for part in (score, parts, summary.remark) if part))


@dataclass
class Joined:
    """A class, joined.

    Attributes:
        students: the site's lines, in its order.
        told: who was left out of what, and what else should be known, a sentence each.
        max_score: full marks, as the grader counts them.
    """

    students: list[Student] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    max_score: Decimal = Decimal(0)


def join(source: Source, roster: Roster | None, place: Callable[[str], dict[str, str]]) -> Joined:
    """Bring submissions and students together, by ids alone.

    Args:
        source: the class, or one report.
        roster: the students; None to take the ids that submissions have.
        place: where none is given, the columns of a student of whom an id is known.
    """
    joined = Joined()
    of: dict[str, list[ClassRow]] = {}
    rows: dict[str, Row] = {}
    strangers, failed, refused, review = [], [], [], []
    for graded in source.rows():
        joined.max_score = max(joined.max_score, graded.summary.max_score)
        if roster is not None:
            found = [row for name in _ids(graded) if (row := roster.find(name)) is not None]
        else:
            found = [Row(name, place(name)) for name in graded.students]
        if not found:
            strangers.append(graded.id)
        for row in {row.key: row for row in found}.values():
            of.setdefault(row.key, []).append(graded)
            rows.setdefault(row.key, row)
        if graded.summary.status == "error":
            failed.append(graded.id)
        elif graded.summary.status == "refused":
            refused.append(graded.id)
        elif graded.summary.review:
            review.append(graded.id)
    absent, several = [], []
    whom = "whose id is known" if roster is None else "in the class list"
    for row in rows.values() if roster is None else roster.rows:
        handed = of.get(row.key, [])
        if not handed:
            absent.append(row.key)
        if len(handed) > 1:
            several.append(f"{row.key} ({', '.join(each.id for each in handed)})")
        one = handed[0] if len(handed) == 1 else None
        if one is not None and one.summary.status == "error":
            one = None  # the grader's fault is nobody's zero
        joined.students.append(Student(row.key, row.columns, one))
    for ids, sentence in (
        (absent, "In the class list without a submission"),
        (strangers, f"Submissions of nobody {whom}, in no line of the file"),
        (several, "With more than one submission, so none of them counts; keep one"),
        (failed, "The grader itself failed, so no points are entered"),
        (refused, "Could not be read, and have 0 points"),
        (review, "Have rows that a person must look at, so their points may change"),
        (roster.ambiguous if roster is not None else [], "Ids that two rows of the list share"),
        (
            list(map(str, roster.without_id)) if roster is not None else [],
            "Lines of the class list without an id",
        ),
    ):
        if ids:
            joined.told.append(f"{sentence}: {_listed(ids)}")
    return joined


def _ids(graded: ClassRow) -> list[str]:
    """The ids that a submission may be known by: its students', or else its file's name."""
    return graded.students or [PurePosixPath(graded.handed.file).stem, graded.id]


def _listed(ids: Sequence[str]) -> str:
    shown = ", ".join(one_line(each, 120) for each in ids[:LISTED])
    return shown + (f" and {len(ids) - LISTED} more" if len(ids) > LISTED else "")


def column_of(
    headers: Sequence[str], wanted: str | None, assignment: str, looks_like: re.Pattern[str]
) -> str | None:
    """The column of the site's export that the grades belong into; None where there is none.

    Args:
        headers: the export's columns.
        wanted: its name as a person gave it, with or without the site's number.
        assignment: the id of the assignment, by whose words it is looked for otherwise.
        looks_like: what columns of grades look like on that site.

    Raises:
        InputError: more than one fits, or that which was asked for does not.
    """
    columns = [header for header in headers if looks_like.search(header)]
    if wanted is not None:
        simple = wanted.strip().casefold()
        exact = [header for header in headers if header.casefold() == simple]
        fitting = exact or [header for header in columns if header.casefold().startswith(simple)]
    else:
        words = _words(assignment)
        fitting = [header for header in columns if words <= _words(header)]
    if len(fitting) == 1 or not headers:
        return fitting[0] if fitting else None
    if fitting:
        raise InputError(
            f"Several columns could be meant ({_listed(fitting)}): name one with --column."
        )
    if wanted is not None and columns and looks_like.search(wanted):
        raise InputError(f"The class list has no column {wanted!r}: it has {_listed(columns)}.")
    return None


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def number(text: str) -> Decimal | None:
    """The points that a site's cell names; None where it names none."""
    try:
        value = Decimal(text.strip().replace(",", "."))
    except InvalidOperation:
        return None
    return value if value.is_finite() and value > 0 else None


def grade(student: Student, joined: Joined, possible: Decimal | None) -> str | None:
    """A student's points on the site's scale; None where none are to be entered."""
    if student.graded is None:
        return None
    score = student.graded.summary.score
    return points(rescaled(score, joined.max_score, possible or joined.max_score))


def tell_scale(joined: Joined, possible: Decimal | None) -> None:
    """Say that points are on another scale, where they are."""
    if possible is not None and possible != joined.max_score:
        joined.told.append(
            f"Points are of {points(possible)}, as on the site; the rubric has "
            f"{points(joined.max_score)}."
        )


def escaped(text: str) -> str:
    """Text for a site that shows it as HTML."""
    return html.escape(text, quote=False)


def value_of(columns: dict[str, str], names: Iterable[str]) -> str:
    """The first value that one of these columns holds, whatever the case of its name."""
    simple = {" ".join(header.split()).casefold(): value for header, value in columns.items()}
    return next((simple[name] for name in names if simple.get(name)), "")


def written(rows: Iterator[Sequence[str]], quoting: int = csv.QUOTE_MINIMAL) -> str:
    """The file of these rows; no cell of it is taken for a formula."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n", quoting=quoting)  # type: ignore[arg-type]
    writer.writerows([cell(text) for text in row] for row in rows)
    return out.getvalue()
