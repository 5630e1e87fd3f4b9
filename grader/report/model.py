"""What grading a submission comes to: the report, its JSON, and its sums."""

import json
from collections.abc import Iterable
from decimal import Decimal
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, PlainSerializer, model_validator

from grader.assignment.questions import MILESTONE as QUESTIONS
from grader.intake import Location

SCHEMA: Literal["transformer-grader/report/1"] = "transformer-grader/report/1"
Status = Literal[
    "passed", "failed", "raised", "timed_out", "crashed", "refused", "blocked", "review"
]

Isolation = Literal["namespaces", "limits", "none"]


def plain_number(value: Decimal) -> int | float:
    """The decimal as the JSON number that looks the same."""
    return int(value) if value == value.to_integral_value() else float(value)


Score = Annotated[
    Decimal, Field(ge=0), PlainSerializer(plain_number, return_type=int | float, when_used="json")
]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Place(_Model):
    """A line of a file, or of a cell of a notebook."""

    file: str
    line: Annotated[int, Field(ge=0)] | None = None
    cell: Annotated[int, Field(ge=0)] | None = None

    def __str__(self) -> str:
        return str(Location(self.file, self.line, self.cell))


class CheckRow(_Model):
    """What one check of the rubric came to. Every check has exactly one row, whatever happened."""

    id: str
    title: str
    status: Status
    score: Score
    max_score: Score
    hidden: bool = False
    message: str | None = None
    expected: str | None = None
    got: str | None = None
    misconception: str | None = None
    hint: str | None = None
    lesson: str | None = None
    location: Place | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.score > self.max_score:
            raise ValueError(f"the score of {self.id} is larger than what there is to be had")
        return self


class MilestoneRow(_Model):
    """A milestone with its checks; its score is their sum."""

    id: str
    title: str
    score: Score
    max_score: Score
    checks: tuple[CheckRow, ...]

    @classmethod
    def of(
        cls, milestone: str, title: str, max_score: Decimal, rows: Iterable[CheckRow]
    ) -> "MilestoneRow":
        """A milestone with its rows, and their sum."""
        checks = tuple(rows)
        score = sum((row.score for row in checks), Decimal(0))
        return cls(id=milestone, title=title, score=score, max_score=max_score, checks=checks)

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.score != sum((check.score for check in self.checks), Decimal(0)):
            raise ValueError(f"the score of {self.id} is not the sum of its checks")
        return self


class Finding(_Model):
    """Something that a reader should know and that no check is about."""

    kind: Literal["disallowed", "skipped", "review", "note"]
    message: str
    location: Place | None = None


class Environment(_Model):
    """What graded it."""

    grader: str
    torch: str
    isolation: Isolation


class Report(_Model):
    """What grading a submission came to (schema transformer-grader/report/1).

    `status` is "graded"; "refused" when the submission could not be read as one; "error" when the
    grader itself failed, which is never the student's zero.
    """

    schema_: Literal["transformer-grader/report/1"] = Field(alias="schema")
    submission: str
    digest: str
    assignment: str
    status: Literal["graded", "refused", "error"]
    score: Score
    max_score: Score
    milestones: tuple[MilestoneRow, ...]
    findings: tuple[Finding, ...] = ()
    environment: Environment
    seconds: Annotated[float, Field(ge=0, allow_inf_nan=False)]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.score != sum((milestone.score for milestone in self.milestones), Decimal(0)):
            raise ValueError("the score is not the sum of the milestones")
        return self

    @property
    def full_marks(self) -> bool:
        """Whether every point was reached."""
        return self.status == "graded" and self.score == self.max_score

    @property
    def code_is_right(self) -> bool:
        """Whether every check of the code passed, whatever was answered to the questions."""
        return self.status == "graded" and all(check.status == "passed" for check in self.code())

    @property
    def nothing_lost(self) -> bool:
        """Whether all points were reached, but for those that a person has yet to give."""
        return self.status == "graded" and all(
            check.score == check.max_score or awaits_mark(milestone, check)
            for milestone in self.milestones
            for check in milestone.checks
        )

    def checks(self) -> list[CheckRow]:
        """All rows, in order."""
        return [check for milestone in self.milestones for check in milestone.checks]

    def code(self) -> list[CheckRow]:
        """The rows of the checks that ran the code: all but those of the questions."""
        return [
            check
            for milestone in self.milestones
            if milestone.id != QUESTIONS
            for check in milestone.checks
        ]

    def to_json(self) -> str:
        """The JSON of the contract, with a newline at its end."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"


def awaits_mark(milestone: MilestoneRow, check: CheckRow) -> bool:
    """Whether it is an open question that was answered and that nobody has marked yet."""
    return milestone.id == QUESTIONS and check.status == "review"


def read_report(text: str) -> Report:
    """The report that `Report.to_json` wrote; raises pydantic's ValidationError."""
    return Report.model_validate(json.loads(text, parse_float=Decimal))
