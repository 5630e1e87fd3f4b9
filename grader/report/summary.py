"""A report in short: what the lists of a class need of it."""

from typing import Literal

from pydantic import BaseModel, ConfigDict

from grader.report.model import CheckRow, Isolation, Report, Score, Status
from grader.report.terminal import remark


class Loss(BaseModel):
    """A row that did not get all of its points.

    Attributes:
        status: as in the report.
        score: what it got.
        misconception: the id of what the row names, if it names any.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Status
    score: Score
    misconception: str | None = None


class Summary(BaseModel):
    """What the lists of a class need of a report.

    Attributes:
        milestones: the points of each, by id, in order.
        losses: the rows that did not get all of their points, by the check's id.
        misconceptions: what the report names, each once, in order.
        review: how many rows and findings a person must look at.
        remark: the report in a line: its misconceptions, or else what went wrong first.
        code_is_right: whether every check of the code passed.
    """

    model_config = ConfigDict(frozen=True, extra="forbid")

    status: Literal["graded", "refused", "error"]
    score: Score
    max_score: Score
    milestones: dict[str, Score]
    losses: dict[str, Loss]
    misconceptions: tuple[str, ...]
    review: int
    remark: str
    code_is_right: bool
    isolation: Isolation
    seconds: float


def summarise(report: Report) -> Summary:
    """The summary of a report."""
    checks = report.checks()
    return Summary(
        status=report.status,
        score=report.score,
        max_score=report.max_score,
        milestones={milestone.id: milestone.score for milestone in report.milestones},
        losses={
            row.id: Loss(status=row.status, score=row.score, misconception=row.misconception)
            for row in checks
            if _is_lost(row)
        },
        misconceptions=tuple(misconceptions(report)),
        review=sum(row.status == "review" for row in checks)
        + sum(finding.kind == "review" for finding in report.findings),
        remark=remark(report),
        code_is_right=report.code_is_right,
        isolation=report.environment.isolation,
        seconds=report.seconds,
    )


def misconceptions(report: Report) -> list[str]:
    """The misconceptions that a report names, each once, in order."""
    return list(dict.fromkeys(c.misconception for c in report.checks() if c.misconception))


def _is_lost(row: CheckRow) -> bool:
    return row.score != row.max_score or row.status != "passed"
