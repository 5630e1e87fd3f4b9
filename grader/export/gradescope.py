"""Gradescope's `results.json`: a test a row of the report.

Format: Gradescope's autograder specifications. A rubric's hidden rows have points, so they are
shown when the grades are published; what Gradescope calls `hidden` is for tests without points.
"""

import re
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from grader.export.base import Format, Source, Wanted, Written
from grader.export.wording import (
    begin_with,
    explanation,
    reason,
    rows_of,
    score_text,
    status_words,
    title_of,
)
from grader.report import CheckRow, MilestoneRow, Report
from grader.report.cells import one_line
from grader.report.model import awaits_mark, plain_number
from grader.report.terminal import printable

NAME, OUTPUT = 200, 4_000  # characters
Visibility = Literal["visible", "hidden", "after_due_date", "after_published"]
Number = Annotated[int | float, Field(ge=0)]


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True)


class GradescopeTest(_Model):
    """A row of the report.

    Attributes:
        name: what it is about.
        number: of the milestone, and of the row in it.
        output: what to mend; shown in a `<pre>`, since `output_format` is text.
        tags: the milestone, and the misconception where one is named.
    """

    name: str
    number: str
    score: Number
    max_score: Number
    status: Literal["passed", "failed"]
    output: str
    output_format: Literal["text"] = "text"
    visibility: Visibility
    tags: list[str]


class GradescopeResults(_Model):
    """What Gradescope reads when an autograder has ended.

    Attributes:
        score: the sum of the tests.
        execution_time: in seconds, rounded up.
        output: on the whole of it.
        stdout_visibility: what the grader printed is for those who teach.
    """

    score: Number
    execution_time: Annotated[int, Field(ge=0)]
    output: str
    output_format: Literal["text"] = "text"
    visibility: Visibility = "visible"
    stdout_visibility: Visibility = "hidden"
    tests: list[GradescopeTest]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if sum(Decimal(str(test.score)) for test in self.tests) != Decimal(str(self.score)):
            raise ValueError("the score is not the sum of the tests")
        return self

    def to_json(self) -> str:
        """As JSON, with a newline at its end."""
        return self.model_dump_json(indent=2) + "\n"


def results(report: Report) -> GradescopeResults:
    """What Gradescope is told of a report."""
    rows = [
        (f"{m}.{n}", milestone, check)
        for m, milestone in enumerate(report.milestones, start=1)
        for n, check in enumerate(milestone.checks, start=1)
    ]
    numbers = {check.id: number for number, _, check in rows}
    tests = [_test(report, numbers, milestone, check) for _, milestone, check in rows]
    return GradescopeResults(
        score=plain_number(report.score),
        execution_time=int(-(-report.seconds // 1)),
        output=_overview(report),
        tests=tests,
    )


def _test(
    report: Report, numbers: dict[str, str], milestone: MilestoneRow, check: CheckRow
) -> GradescopeTest:
    words = status_words(report, check)
    said = _with_numbers(explanation(check), numbers)
    tags = [milestone.id, *([check.misconception] if check.misconception else [])]
    return GradescopeTest(
        name=one_line(title_of(milestone, check, NAME), NAME),
        number=numbers[check.id],
        score=plain_number(check.score),
        max_score=plain_number(check.max_score),
        status="passed" if check.status == "passed" else "failed",
        output=(f"{words}\n{said}" if words and check.status != "failed" else said)[:OUTPUT],
        visibility="after_published" if check.hidden else "visible",
        tags=[one_line(tag, NAME) for tag in tags],
    )


def _with_numbers(text: str, numbers: dict[str, str]) -> str:
    """A text in which other rows have their numbers, by which they are found on the page."""
    return re.sub(
        r"`(\w+)`",
        lambda m: f"{m[0]} ({numbers[m[1]]})" if m[1] in numbers else m[0],
        text,
    )


def _overview(report: Report) -> str:
    why = reason(report)
    lines = [line for line in (why or score_text(report), begin_with(report)) if line]
    if any(awaits_mark(milestone, check) for milestone, check in rows_of(report)):
        lines.append("Answers that wait for a person's mark have no points yet.")
    places = (
        f"{finding.location}: {finding.message}" if finding.location else finding.message
        for finding in (() if why else report.findings[:20])
    )
    lines += [printable(place) for place in places]
    return "\n".join(lines)[:OUTPUT]


def write(source: Source, _: Wanted) -> Written:
    """The file."""
    return Written(results(source.report()).to_json())


FORMAT = Format("gradescope", "Gradescope's results.json", write)
