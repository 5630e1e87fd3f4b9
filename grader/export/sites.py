"""A class joined with a site's own export or a class list, for the gradebooks that sites import."""

import csv
import html
import io
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from decimal import Decimal, InvalidOperation
from pathlib import PurePosixPath
from typing import Literal

from grader.batch.roster import Roster, Row
from grader.batch.store import Handed
from grader.errors import InputError
from grader.export.base import Source, Wanted
from grader.export.scores import rescaled
from grader.export.wording import begin_with, score_text
from grader.intake.text import writable
from grader.report import Report
from grader.report.cells import is_formula, one_line
from grader.report.terminal import points, remark

LISTED = 40  # ids that a sentence names
MOST_POINTS = 1_000_000
NUMBER = re.compile(r"[-+]?[0-9]+([.,][0-9]+)?%?|-")  # and the dash by which sites say "none"
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
GROUPED = re.compile(r"[0-9]{1,3}(,[0-9]{3})+(\.[0-9]+)?")  # 1,000.00
REQUIRED = (
    "Students are known by the site's own export, or by a class list with its ids: name it with "
    "--roster FILE."
)


@dataclass(frozen=True)
class Graded:
    """A submission with its report."""

    handed: Handed
    report: Report

    @property
    def feedback(self) -> str:
        """What a student is told in one line: points, milestones, and what to mend first."""
        report = self.report
        parts = ", ".join(
            f"{milestone.title} {points(milestone.score)}/{points(milestone.max_score)}"
            for milestone in report.milestones
        )
        if report.status != "graded":
            return one_line(remark(report))
        texts = (score_text(report), parts, begin_with(report))
        return one_line(". ".join(text.rstrip(".") for text in texts if text) + ".")


@dataclass(frozen=True)
class Student:
    """A line of the site's file.

    Attributes:
        key: an id of the student.
        columns: what the site's export or the class list says of them.
        graded: the submission that counts; None where there is none.
    """

    key: str
    columns: dict[str, str]
    graded: Graded | None


@dataclass
class Joined:
    """A class, joined.

    Attributes:
        students: the site's lines, in its order.
        told: who was left out of what, and what else should be known, a sentence each.
        max_score: full marks, as the grader counts them.
        replaced: ids of students whose cells held something else before.
        kept: ids of students whose cells are not to be changed.
    """

    students: list[Student] = field(default_factory=list)
    told: list[str] = field(default_factory=list)
    max_score: Decimal = Decimal(0)
    replaced: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)

    def tell(self, ids: Sequence[str], sentence: str) -> None:
        """Add a sentence with ids, where there are any."""
        if ids:
            self.told.append(f"{sentence}: {listed(ids)}")

    def sentences(self) -> tuple[str, ...]:
        """All that is to be told; called once, when every line is written."""
        self.tell(self.replaced, "Grades or feedback that were there are replaced")
        self.tell(self.kept, "Excused, or not to be changed on the site, and left as they are")
        return tuple(self.told)


def join(source: Source, wanted: Wanted) -> tuple[Joined, Roster]:
    """Bring submissions and students together, by ids alone.

    Of several submissions of one student, the one with the most points counts.

    Args:
        source: the class, or one report.
        wanted: with its `roster`.

    Raises:
        InputError: there is no class list, or nobody of it handed in anything.
    """
    roster = wanted.roster
    if roster is None:
        raise InputError(REQUIRED)
    joined = Joined()
    of: dict[str, list[Graded]] = {}
    strangers, failed, refused, review = [], [], [], []
    count = 0
    for handed, report in source.reports():
        count += 1
        graded = Graded(handed, report)
        joined.max_score = max(joined.max_score, report.max_score)
        rows, unknown = _rows_of(handed, roster)
        strangers += unknown
        for row in rows:
            of.setdefault(row.key, []).append(graded)
        if report.status == "error":
            failed.append(handed.id)
        elif report.status == "refused":
            refused.append(handed.id)
        elif any(check.status == "review" for check in report.checks()):
            review.append(handed.id)
    if count and not of:
        raise InputError(
            f"None of the {count} submissions is of anybody in the class list: they are "
            f"{listed(strangers, 5)}, and it has {listed([row.key for row in roster.rows], 5)}."
        )
    absent, several = [], []
    for row in roster.rows:
        # The grader's fault is nobody's zero.
        all_of = of.get(row.key, [])
        counting = [each for each in all_of if each.report.status != "error"]
        best = max(counting, key=lambda each: each.report.score, default=None)
        if len(all_of) > 1 and best is not None:
            several.append(f"{row.key} ({', '.join(_told(each, each is best) for each in all_of)})")
        if not all_of and not _is_test_student(row):
            absent.append(row.key)
        joined.students.append(Student(row.key, row.columns, best))
    joined.tell(absent, "In the class list without a submission")
    joined.tell(strangers, "Submissions of nobody in the class list, in no line of the file")
    joined.tell(several, "With more than one submission, of which the best counts")
    joined.tell(failed, "The grader itself failed, so no points are entered")
    joined.tell(refused, "Could not be read, and have 0 points")
    joined.tell(review, "Have rows that a person must look at, so their points may change")
    joined.tell(roster.ambiguous, "Ids that two rows of the list share")
    joined.tell(list(map(str, roster.without_id)), "Lines of the class list without an id")
    return joined, roster


def _rows_of(handed: Handed, roster: Roster) -> tuple[list[Row], list[str]]:
    """The rows of a submission's students, and who of them has none."""
    names = handed.student.split()
    if not names:
        for name in (PurePosixPath(handed.file).stem, handed.id):
            row = roster.find(name)
            if row is not None:
                return [row], []
        return [], [handed.id]
    found = {name: roster.find(name) for name in names}
    rows = {row.key: row for row in found.values() if row is not None}
    lost = [name for name, row in found.items() if row is None]
    if not rows:
        return [], [handed.id]
    return list(rows.values()), [f"{name} ({handed.id})" for name in lost]


def _told(graded: Graded, counts: bool) -> str:
    return f"{graded.handed.id} {points(graded.report.score)}{' counts' if counts else ''}"


def _is_test_student(row: Row) -> bool:
    """Whether it is the student that Canvas has for teachers to see what students see."""
    return value_of(row.columns, ("student",)).casefold() in ("student, test", "test student")


def listed(ids: Sequence[str], most: int = LISTED) -> str:
    """Ids in a sentence."""
    shown = ", ".join(one_line(each, 120) for each in ids[:most])
    return shown + (f" and {len(ids) - most} more" if len(ids) > most else "")


def column_of(
    headers: Sequence[str], wanted: Wanted, assignment: str, looks_like: re.Pattern[str]
) -> str | None:
    """The column of the site's export that the grades belong into; None where there is none.

    Args:
        headers: the export's columns.
        wanted: with its `column`, as a person gave it, with or without the site's number.
        assignment: the id of the assignment, by whose words it is looked for otherwise.
        looks_like: what columns of grades look like on that site.

    Raises:
        InputError: more than one fits, or none of those that there are.
    """
    columns = [header for header in dict.fromkeys(headers) if looks_like.search(header)]
    if wanted.column is not None:
        simple = " ".join(wanted.column.split()).casefold()
        if not simple:
            raise InputError("--column is empty: name the site's column of the assignment.")
        begins = re.compile(rf"{re.escape(simple)}(?![^\W_])")
        exact = [header for header in columns if header.casefold() == simple]
        fitting = exact or [header for header in columns if begins.match(header.casefold())]
        if not fitting and simple in (" ".join(h.split()).casefold() for h in headers):
            raise InputError(
                f"{wanted.column!r} is no column of grades: there is {listed(columns) or 'none'}."
            )
        if not fitting and columns and looks_like.search(wanted.column):
            raise InputError(
                f"The class list has no column {wanted.column!r}: it has {listed(columns)}."
            )
    else:
        words = _words(assignment)
        fitting = [header for header in columns if words <= _words(header)]
        if columns and not fitting:
            raise InputError(
                f"Which column of the site is meant? Name one of {listed(columns)} with --column, "
                "or another name for a new one."
            )
    if len(fitting) > 1:
        raise InputError(
            f"Several columns could be meant ({listed(fitting)}): name one with --column."
        )
    return fitting[0] if fitting else None


def _words(text: str) -> set[str]:
    return set(re.findall(r"[^\W_]+", text.casefold()))


def number(text: str) -> Decimal | None:
    """The points that a site's cell names, "1,000.00" and "8,5" included; None for none."""
    text = text.strip()
    text = text.replace(",", "") if GROUPED.fullmatch(text) else text.replace(",", ".")
    try:
        value = Decimal(text)
    except InvalidOperation:
        return None
    return value if value.is_finite() and 0 < value <= MOST_POINTS else None


def is_number(text: str) -> bool:
    """Whether a cell holds points, 0 included."""
    return re.fullmatch(r"-?[0-9]+([.,][0-9]+)*", text.strip()) is not None


def grade(student: Student, joined: Joined, possible: Decimal | None) -> str | None:
    """A student's points on the site's scale; None where none are to be entered."""
    if student.graded is None:
        return None
    score = student.graded.report.score
    return points(rescaled(score, joined.max_score, possible or joined.max_score))


def entered(student: Student, joined: Joined, score: str, before: str) -> str:
    """The score, noted where it replaces another value; what is excused stays so."""
    if before.casefold() in ("ex", "excused"):
        joined.kept.append(student.key)
        return before
    if before not in ("", "-") and number(before) != number(score) and before != score:
        joined.replaced.append(student.key)
    return score


def tell_scale(joined: Joined, wanted: Wanted, site: Decimal | None) -> Decimal | None:
    """Say on which scale points are, where that could surprise; returns full marks there.

    Args:
        joined: the class.
        wanted: with its `max_score`, which comes first.
        site: what the site says that full marks are; None where it does not say.
    """
    rubric = points(joined.max_score)
    possible = wanted.max_score or site
    if possible is None:
        joined.told.append(
            f"Points are of {rubric}, as in the rubric, since the list does not say what full "
            "marks are on the site: --max-score puts them on another scale."
        )
    elif wanted.max_score is not None and site is not None and site != wanted.max_score:
        joined.told.append(
            f"Points are of {points(possible)}, but the site's column is of {points(site)}."
        )
    elif possible != joined.max_score:
        joined.told.append(f"Points are of {points(possible)}; the rubric has {rubric}.")
    return possible


def escaped(text: str) -> str:
    """Text for a site that shows it as HTML."""
    return html.escape(text, quote=False)


def value_of(columns: dict[str, str], names: Iterable[str]) -> str:
    """The first value that one of these columns holds, whatever the case of its name."""
    simple = {" ".join(header.split()).casefold(): value for header, value in columns.items()}
    return next((simple[name] for name in names if simple.get(name)), "")


def tell_formulas(joined: Joined, ids: Iterable[str]) -> None:
    """Say which ids the site will not know, since they begin like a formula."""
    joined.tell(
        [each for each in ids if is_formula(each)],
        "Ids that begin like a formula have a quote before them, so the site may not know them",
    )


def written(rows: Iterator[Sequence[str]], quote_all: bool = False) -> str:
    """The file of these rows: what the site's export held, as it was; no cell is a formula."""
    out = io.StringIO()
    quoting: Literal[0, 1] = csv.QUOTE_ALL if quote_all else csv.QUOTE_MINIMAL
    writer = csv.writer(out, lineterminator="\r\n", quoting=quoting)
    writer.writerows([_kept(text) for text in row] for row in rows)
    return out.getvalue()


def _kept(text: str) -> str:
    text = CONTROL.sub("", writable(text))
    return f"'{text}" if is_formula(text) and not NUMBER.fullmatch(text) else text
