"""Marks that a person gave: kept beside the reports, and put into each report made anew."""

import hashlib
import json
from collections.abc import Iterable
from decimal import Decimal
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from grader.errors import InputError
from grader.report import CheckRow, Finding, MilestoneRow, Report
from grader.report.model import Score

SCHEMA: Literal["transformer-grader/marks/1"] = "transformer-grader/marks/1"


class Mark(BaseModel):
    """A person's mark for one row of one submission's report.

    Attributes:
        submission: as the report calls it.
        check: the id of the check or question.
        score: what it is worth, up to the row's points.
        comment: for the student.
        answer: a digest of what was marked, so that a changed answer is noticed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    submission: str
    check: str
    score: Score
    comment: str = ""
    answer: str = ""


class Marks(BaseModel):
    """All marks of a report or of a class (schema transformer-grader/marks/1)."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    schema_: Literal["transformer-grader/marks/1"] = Field(default=SCHEMA, alias="schema")
    marks: tuple[Mark, ...] = ()

    def of(self, submission: str) -> list[Mark]:
        """The marks of one submission."""
        return [mark for mark in self.marks if mark.submission == submission]

    def with_mark(self, mark: Mark) -> "Marks":
        """With another mark, which replaces an earlier one for the same row."""
        key = (mark.submission, mark.check)
        others = [m for m in self.marks if (m.submission, m.check) != key]
        return Marks(marks=(*others, mark))

    def to_json(self) -> str:
        """As JSON, with a newline at its end."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"


def marks_file(report: Path) -> Path:
    """Where the marks of a report by itself lie: beside it."""
    return report.with_name(f"{report.name}.marks.json")


def load_marks(path: Path) -> Marks:
    """The marks in a file; none where there is no file.

    Raises:
        InputError: it is no file of marks.
    """
    try:
        text = path.read_text(encoding="utf-8")
    except FileNotFoundError:
        return Marks()
    except (OSError, UnicodeDecodeError):
        raise InputError(f"{path} cannot be read.") from None
    try:
        return Marks.model_validate(json.loads(text, parse_float=Decimal))
    except (ValueError, ValidationError):
        raise InputError(f"{path} is no file of marks: mend it, or move it away.") from None


def make_mark(report: Report, check: str, score: Decimal, comment: str) -> Mark:
    """A mark for a row of a report.

    Raises:
        InputError: there is no such row, or it is worth less.
    """
    row = next((row for row in report.checks() if row.id == check), None)
    if row is None:
        waiting = [r.id for r in report.checks() if r.status == "review"]
        hint = f": what waits for a mark is {', '.join(waiting)}" if waiting else ""
        raise InputError(f"{report.submission} has no check or question {check!r}{hint}.")
    if score < 0 or score > row.max_score:
        raise InputError(f"{check} is worth 0 to {row.max_score} points, not {score}.")
    return Mark(
        submission=report.submission,
        check=check,
        score=score,
        comment=comment.strip(),
        answer=_digest(row),
    )


def with_marks(report: Report, marks: Iterable[Mark]) -> Report:
    """The report with a person's marks in place of the rows' own scores.

    A mark whose answer has changed since is kept and named among the findings; so is one for a row
    that there is no more.
    """
    by_check = {mark.check: mark for mark in marks}
    stale = {_changed(name) for name in by_check}
    findings = [finding for finding in report.findings if finding.message not in stale]
    milestones = []
    for milestone in report.milestones:
        rows = []
        for row in milestone.checks:
            mark = by_check.pop(row.id, None)
            if mark is not None and mark.answer != _digest(row):
                message = _changed(row.id)
                findings.append(Finding(kind="review", message=message, location=row.location))
            rows.append(row if mark is None else _marked(row, mark))
        milestones.append(MilestoneRow.of(milestone.id, milestone.title, milestone.max_score, rows))
    findings += [
        Finding(kind="review", message=f"There is a mark for {name}, which is no row any more.")
        for name in by_check
    ]
    return report.model_copy(
        update={
            "score": sum((milestone.score for milestone in milestones), Decimal(0)),
            "milestones": tuple(milestones),
            "findings": tuple(findings),
        }
    )


def _changed(name: str) -> str:
    return f"What was marked in {name} has changed since then."


def _marked(row: CheckRow, mark: Mark) -> CheckRow:
    score = min(mark.score, row.max_score)
    message = f"Marked by a person: {mark.comment}" if mark.comment else "Marked by a person."
    return row.model_copy(
        update={
            "status": "passed" if score == row.max_score else "failed",
            "score": score,
            "message": message,
            "hint": None,
        }
    )


def _digest(row: CheckRow) -> str:
    """What tells one answer from another."""
    return hashlib.sha256((row.got or "").encode("utf-8", "surrogateescape")).hexdigest()[:16]
