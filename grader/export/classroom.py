"""The result that a classroom's reporter reads: one line of base64 of JSON.

The reporter adds up `tests[].score` as doubles and prints names, messages and `test_code` as they
are, so all of it is in one line each and says nothing of a test's code.
"""

import base64
from decimal import Decimal
from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.export.base import Format, Source, Wanted, Written
from grader.export.scores import adding_up, rescaled_parts
from grader.export.wording import explanation_in_a_line, line_of, path_of, reason
from grader.report import CheckRow, Report
from grader.report.cells import one_line
from grader.report.model import plain_number

MOST_BYTES = 90_000  # of the JSON: base64 of it has to fit into one variable of the environment
NAME, MESSAGES = 160, (600, 300, 120, 0)  # characters, and of messages the first that fits
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


def classroom_result(report: Report, wanted: Wanted) -> ClassroomResult:
    """The result of a report, less than 90 kB of JSON.

    Args:
        report: of any status; one that is no grade has a single test, with the reason.
        wanted: `max_score`, `test_name`, and `base` for the files' paths.
    """
    for most in MESSAGES:
        result = _result(report, wanted, most)
        if len(result.to_json().encode()) <= MOST_BYTES:
            return result
    names = [test.name for test in result.tests]
    room = max(8, NAME - (len(result.to_json().encode()) - MOST_BYTES) // max(1, len(names)))
    for test, name in zip(result.tests, names, strict=True):
        test.name, test.filename = one_line(name, room), ""
    return result


def _result(report: Report, wanted: Wanted, most: int) -> ClassroomResult:
    total = report.max_score if wanted.max_score is None else wanted.max_score
    why = reason(report)
    if why:
        test = ClassroomTest(
            name=_name(wanted, report.assignment.replace("_", " ")),
            status="error", score=0, message=one_line(why, NAME * 4), filename="", line_no=0,
        )  # fmt: skip
        return ClassroomResult(
            status="error",
            max_score=plain_number(total),
            message=one_line(why, NAME * 4),
            tests=[test],
        )
    checks = report.checks()
    parts = rescaled_parts([check.score for check in checks], report.max_score, total)
    tests = [
        _test(check, score, wanted, most)
        for check, score in zip(checks, adding_up(parts), strict=True)
    ]
    status: Status = "pass" if report.nothing_lost else "fail"
    return ClassroomResult(status=status, max_score=plain_number(total), tests=tests)


def _test(check: CheckRow, score: int | float, wanted: Wanted, most: int) -> ClassroomTest:
    is_right = check.status == "passed"
    return ClassroomTest(
        name=_name(wanted, check.title or check.id),
        status="pass" if is_right else "fail",
        score=score,
        message="" if is_right or not most else explanation_in_a_line(check, most),
        filename=one_line(path_of(check.location, wanted.base), NAME),
        line_no=line_of(check.location) or 0,
    )


def _name(wanted: Wanted, title: str) -> str:
    name = f"{wanted.test_name}: {title}" if wanted.test_name else title
    return one_line(name, NAME) or "-"


def total_of(result: ClassroomResult) -> Decimal:
    """The points of a result, without what doubles add to them."""
    return Decimal(str(round(sum(test.score for test in result.tests), 6))).normalize()


def write(source: Source, wanted: Wanted) -> Written:
    """The line."""
    text = classroom_result(source.report(), wanted).to_json()
    return Written(base64.b64encode(text.encode()).decode() + "\n")


FORMAT = Format(
    "classroom",
    "a classroom's result, one line of base64",
    write,
    ("max_score", "test_name", "base"),
)
