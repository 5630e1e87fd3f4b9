"""From what checks came to, to a report: points, places, findings and sums."""

import ast
from dataclasses import replace
from decimal import ROUND_DOWN, Decimal
from functools import cache
from importlib import metadata
from typing import TYPE_CHECKING, Literal

from grader.assignment import Assignment, Check, Milestone
from grader.errors import InputError
from grader.grading.questions import milestone as questions_milestone
from grader.grading.questions import question_title, questions_row
from grader.grading.titles import titles
from grader.intake import Location, Note, Source, Submission
from grader.intake.definitions import definitions
from grader.report import (
    SCHEMA,
    CheckRow,
    Environment,
    Finding,
    Isolation,
    MilestoneRow,
    Place,
    Report,
    Status,
)

if TYPE_CHECKING:  # they import torch, and refusing a submission should not wait for that
    from grader.grading.plugin import Outcome, Run
    from grader.student import Session


HIDDEN = {
    "raised": "It raised an exception on an input that is not shown.",
    "timed_out": "It took too long on an input that is not shown.",
    "crashed": "Its process ended on an input that is not shown.",
    "blocked": "Not tried, because of an earlier row.",
}
HIDDEN_OTHER = "It is not right on an input that is not shown."


def report_of(run: "Run", assignment: Assignment, isolation: Isolation, seconds: float) -> Report:
    """The report of a run: every check scored, and what else a reader should know."""
    session = run.session
    submission = session.submission
    names = titles(assignment)
    milestones = []
    faults = []
    for milestone in assignment.milestones:
        rows = []
        for check in milestone.checks:
            outcome = run.outcomes[check.id]
            if outcome.status == "fault":
                faults.append(f"{check.id}: {outcome.message}")
            rows.append(_row(check, names[check.id], outcome, session))
        milestones.append(milestone_row(milestone, rows))
    asked: list[Note] = []
    if assignment.questions is not None:
        others = [s for s in submission.sources.values() if s not in session.modules]
        row, asked = questions_row(assignment.questions, [*session.modules, *others])
        milestones.append(row)
    findings = [
        Finding(
            kind="disallowed",
            message=f"`{use.name}` is not allowed in this assignment; `{use.definition}` uses it.",
            location=_place(use.location),
        )
        for use in session.uses
    ]
    findings += _notes(submission, session, asked)
    findings += [
        Finding(kind="review", message=f"The grader itself failed in {fault}") for fault in faults
    ]
    return make_report(
        assignment,
        submission.name,
        submission.digest,
        "error" if faults else "graded",
        milestones,
        findings,
        isolation,
        seconds,
    )


def _concealed(outcome: "Outcome") -> "Outcome":
    """An outcome without its input, its values, or what the student's code said of them.

    The misconception stays, and the definition's place; an exception's text and line could carry
    what the input was.
    """
    from grader.diagnosis import sentence_of

    sentence = sentence_of(outcome.misconception or "")
    message = " ".join(filter(None, [HIDDEN.get(outcome.status, HIDDEN_OTHER), sentence]))
    return replace(outcome, message=message, expected=None, got=None, frames=())


def _row(check: Check, title: str, outcome: "Outcome", session: "Session") -> CheckRow:
    passed = outcome.status == "passed"
    if check.hidden and not passed:
        outcome = _concealed(outcome)
    place = None
    if not passed:
        if outcome.frames:
            place = _place(session.locate(outcome.frames[-1]))
        else:
            place = _place(
                definition_place(
                    [*session.modules, *session.submission.sources.values()],
                    session.spelling(check.component),
                )
            )
    status: Status = "review" if outcome.status == "fault" else outcome.status
    return CheckRow(
        id=check.id,
        title=title,
        status=status,
        score=check.points if passed else partial_score(check, outcome),
        max_score=check.points,
        hidden=check.hidden,
        message=None if passed else outcome.message,
        expected=outcome.expected,
        got=outcome.got,
        misconception=outcome.misconception,
        hint=None if passed or status == "blocked" else outcome.hint or check.hint,
        lesson=None if passed or status == "blocked" else check.lesson,
        location=place,
    )


def partial_score(check: Check, outcome: "Outcome") -> Decimal:
    """What a failed check earns by the steps that it follows the recipe, in hundredths of a point.

    What is returned counts as one more step, so all of `partial` is never reached.
    """
    if outcome.status != "failed" or outcome.reached is None:
        return Decimal(0)
    share = Decimal(outcome.reached.numerator) / Decimal(outcome.reached.denominator)
    return (check.points * check.partial * share).quantize(Decimal("0.01"), ROUND_DOWN)


def definition_place(modules: list[Source], name: str) -> Location | None:
    """Where a definition stands: a function's line, or a class's forward."""
    for module in modules:
        statement = definitions(module).get(name)
        if statement is None or isinstance(statement, (ast.Import, ast.ImportFrom)):
            continue
        for method in getattr(statement, "body", []) if isinstance(statement, ast.ClassDef) else []:
            if isinstance(method, ast.FunctionDef) and method.name in ("forward", "__call__"):
                statement = method
        return module.locate(statement.lineno)
    return None


def _place(location: Location | None) -> Place | None:
    return None if location is None else Place(**vars(location))


def _notes(submission: Submission, session: "Session", asked: list[Note]) -> list[Finding]:
    notes = [*submission.notes, *submission.broken.values(), *session.notes, *asked]
    findings = [
        Finding(kind=note.kind, message=note.message, location=_place(note.location))  # type: ignore[arg-type]
        for note in notes
    ]
    graded = [module.path for module in session.modules]
    if graded and len(submission.sources) > 1:
        findings.append(Finding(kind="note", message=f"Graded: {', '.join(graded)}."))
    return findings


def milestone_row(milestone: Milestone, rows: list[CheckRow]) -> MilestoneRow:
    """A milestone with its rows, and their sum."""
    return MilestoneRow.of(milestone.id, milestone.title, milestone.points, rows)


def refusal(
    assignment: Assignment, name: str, digest_: str, error: InputError, seconds: float = 0.0
) -> Report:
    """The report of what cannot be read as a submission: every row refused, and the reason."""
    place = Place(file=error.file, line=error.line, cell=error.cell) if error.file else None
    finding = Finding(kind="note", message=str(error), location=place)
    rows = _rows_of_none(assignment, "refused", "The submission could not be read.")
    return make_report(assignment, name, digest_, "refused", rows, [finding], "none", seconds)


def failure(assignment: Assignment, name: str, digest_: str, fault: str) -> Report:
    """The report of a submission at which the grader itself failed, which is never its zero.

    Args:
        assignment: what was to be graded.
        name: what the submission is called.
        digest_: over its files.
        fault: what went wrong.
    """
    message = f"The grader itself failed: {fault}. Grade it again; please report it if that fails."
    rows = _rows_of_none(assignment, "review", "The grader itself failed.")
    finding = Finding(kind="review", message=message)
    return make_report(assignment, name, digest_, "error", rows, [finding], "none", 0.0)


def _rows_of_none(assignment: Assignment, status: Status, message: str) -> list[MilestoneRow]:
    """Every milestone, without a point, each of its rows for the same reason."""
    names = titles(assignment)

    def row(name: str, title: str, points: Decimal, hidden: bool = False) -> CheckRow:
        return CheckRow(
            id=name,
            title=title,
            status=status,
            score=Decimal(0),
            max_score=points,
            hidden=hidden,
            message=message,
        )

    rows = [
        milestone_row(
            milestone,
            [
                row(check.id, names[check.id], check.points, check.hidden)
                for check in milestone.checks
            ],
        )
        for milestone in assignment.milestones
    ]
    if assignment.questions is not None:
        asked = [row(q.id, question_title(q), q.points) for q in assignment.questions.questions]
        rows.append(questions_milestone(assignment.questions, asked))
    return rows


def make_report(
    assignment: Assignment,
    name: str,
    digest_: str,
    status: Literal["graded", "refused", "error"],
    milestones: list[MilestoneRow],
    findings: list[Finding],
    isolation: Isolation,
    seconds: float,
) -> Report:
    """A report, with its sum."""
    return Report(
        schema=SCHEMA,
        submission=name,
        digest=digest_,
        assignment=assignment.id,
        status=status,
        score=sum((milestone.score for milestone in milestones), Decimal(0)),
        max_score=assignment.points,
        milestones=tuple(milestones),
        findings=tuple(findings),
        environment=Environment(
            grader=version_of("transformer-grader"), torch=version_of("torch"), isolation=isolation
        ),
        seconds=round(seconds, 3),
    )


@cache
def version_of(package: str) -> str:
    """The installed version of a package, or "unknown"."""
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
