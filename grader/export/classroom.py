"""The result that a classroom's reporter reads: one line of base64 of JSON.

The reporter adds up `tests[].score` as doubles and prints names, messages and `test_code` as they
are, so all of it is in one line each and says nothing of a test's code.
"""

import base64
from dataclasses import dataclass
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.export.base import Format, Source, Wanted, Written
from grader.export.scores import adding_up, rescaled_parts
from grader.export.wording import (
    explanation_in_a_line,
    line_of,
    path_of,
    reason,
    rows_of,
    title_of,
)
from grader.report import Report
from grader.report.cells import one_line
from grader.report.model import plain_number

MOST_BYTES = 90_000  # of the JSON: base64 of it has to fit into one variable of the environment
NAME = 160  # characters
Status = Literal["pass", "fail", "error"]
Number = Annotated[int | float, Field(ge=0)]


class ClassroomTest(BaseModel):
    """A row of the report, as the reporter shows it.

    Attributes:
        name: printed as it is, and so in one line.
        status: how it came out.
        score: its points.
        message: what to mend; printed where the status is "error".
        test_code: always empty, since it would be printed.
        filename: where the student's mistake is, from the repository's root; "" where unknown.
        line_no: its line; 0 where unknown.
        duration: in seconds; 0, since the report times no single check.
    """

    model_config = ConfigDict(extra="forbid", strict=True)

    name: Annotated[str, Field(min_length=1, pattern=r"^[^\n\r]+$")]
    status: Status
    score: Number
    message: str
    test_code: Literal[""] = ""
    filename: str
    line_no: Annotated[int, Field(ge=0)]
    duration: Number = 0


class ClassroomResult(BaseModel):
    """The result of a classroom's grader (version 1)."""

    model_config = ConfigDict(extra="forbid", strict=True)

    version: Literal[1] = 1
    status: Status
    max_score: Number
    message: str | None = None
    tests: Annotated[list[ClassroomTest], Field(min_length=1)]

    def to_json(self) -> str:
        """As JSON, without `message` where there is none."""
        return self.model_dump_json(exclude_none=True)

    def to_line(self) -> str:
        """As the reader wants it: base64 of the JSON."""
        return base64.b64encode(self.to_json().encode()).decode()


@dataclass(frozen=True)
class _Size:
    """How long a name and a message may be, in characters, and whether files are named."""

    name: int
    message: int
    files: bool = True


SIZES = (_Size(160, 600), _Size(160, 300), _Size(160, 120), _Size(160, 0), _Size(60, 0, False))


def classroom_result(report: Report, wanted: Wanted) -> ClassroomResult:
    """The result of a report, less than 90 kB of JSON: with a test a row, or else a milestone.

    Args:
        report: of any status; one that is no grade has a single test, with the reason.
        wanted: `max_score`, `test_name`, and `base` for the files' paths.
    """
    total = wanted.full_marks(report)
    why = reason(report) or ("" if report.checks() else "There is nothing to grade in this report.")
    if why:
        name = _name(wanted, report.assignment.replace("_", " "), NAME)
        return _of("error", total, [_test(name, "error", 0, why)], one_line(why, 4 * NAME))
    status: Status = "pass" if report.nothing_lost else "fail"
    for size in SIZES:
        result = _of(status, total, _tests(report, total, wanted, size))
        if _fits(result):
            return result
    milestones = [(m.title or m.id, m.score, m.score == m.max_score) for m in report.milestones]
    whole = [(report.assignment, report.score, report.full_marks)]
    for rows in (milestones, whole):
        parts = rescaled_parts([score for _, score, _ in rows], report.max_score, total)
        tests = [
            _test(_name(wanted, title, 60), "pass" if is_right else "fail", score, "")
            for (title, _, is_right), score in zip(rows, adding_up(parts), strict=True)
        ]
        result = _of(status, total, tests)
        if _fits(result):
            break
    return result


def _fits(result: ClassroomResult) -> bool:
    return len(result.to_json().encode()) <= MOST_BYTES


def _of(
    status: Status, total: Decimal, tests: list[ClassroomTest], message: str | None = None
) -> ClassroomResult:
    return ClassroomResult(
        status=status, max_score=plain_number(total), message=message, tests=tests
    )


def _tests(report: Report, total: Decimal, wanted: Wanted, size: _Size) -> list[ClassroomTest]:
    rows = list(rows_of(report))
    parts = rescaled_parts([check.score for _, check in rows], report.max_score, total)
    tests = []
    for (milestone, check), score in zip(rows, adding_up(parts), strict=True):
        is_right = check.status == "passed"
        place = check.location if size.files else None
        says = size.message and not is_right
        tests.append(
            _test(
                _name(wanted, title_of(milestone, check, size.name), size.name),
                "pass" if is_right else "fail",
                score,
                explanation_in_a_line(check, size.message) if says else "",
                one_line(path_of(place, wanted.base), NAME),
                line_of(place) or 0,
            )
        )
    return tests


def _test(
    name: str, status: Status, score: int | float, message: str, filename: str = "", line: int = 0
) -> ClassroomTest:
    message = one_line(message, 4 * NAME)
    return ClassroomTest(
        name=name, status=status, score=score, message=message, filename=filename, line_no=line
    )


def _name(wanted: Wanted, title: str, most: int) -> str:
    name = f"{wanted.test_name}: {title}" if wanted.test_name else title
    return one_line(name, most) or "-"


def total_of(result: ClassroomResult) -> Decimal:
    """The points of a result, without what doubles add to them."""
    return Decimal(str(round(sum(test.score for test in result.tests), 6))).normalize()


def write(source: Source, wanted: Wanted) -> Written:
    """The line."""
    return Written(classroom_result(source.report(), wanted).to_line() + "\n")


FORMAT = Format(
    "classroom",
    "a classroom's result, one line of base64",
    write,
    ("max_score", "test_name", "base"),
)
