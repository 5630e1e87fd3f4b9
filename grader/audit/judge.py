"""From reports to an audit: what caught a mutant, and whether its diagnosis is right."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from grader.assignment import Assignment
from grader.assignment.questions import MILESTONE as QUESTIONS
from grader.audit.model import Audit, Catch, CheckFigures, MutantRow, RightRow, Verdict
from grader.report import Report
from reference.misconceptions.mutants import Mutant


def audit(
    assignment: Assignment, mutants: Sequence[tuple[Mutant, Report]], right: Sequence[Report]
) -> Audit:
    """The audit of an assignment, from the reports of mutants and of right submissions.

    A mutant that is not wrong counts among the right ones.
    """
    rows = tuple(judged(mutant, report) for mutant, report in mutants if not mutant.right)
    harmless = [report for mutant, report in mutants if mutant.right]
    return Audit(
        assignment=assignment.id,
        mutants=rows,
        right=tuple(_right_row(report) for report in (*right, *harmless)),
        checks=tuple(_figures(assignment, rows)),
    )


def judged(mutant: Mutant, report: Report) -> MutantRow:
    """The row of a mutant."""
    named = _named(report)
    caught = tuple(
        Catch(check=check.id, status=check.status)
        for check in report.code()
        if check.status not in ("passed", "blocked")
    )
    return MutantRow(
        name=mutant.name,
        expected=tuple(sorted(mutant.expected)),
        lost=_lost(report),
        milestones=tuple(
            milestone.id
            for milestone in report.milestones
            if milestone.id != QUESTIONS and milestone.score < milestone.max_score
        ),
        caught=caught,
        named=named,
        verdict=_verdict(mutant, report, named),
        seconds=report.seconds,
    )


def _verdict(mutant: Mutant, report: Report, named: Sequence[str]) -> Verdict:
    if report.status != "graded":
        return "error"
    if report.code_is_right:
        return "kept"
    if not named:
        return "unknown"
    if named[0] in mutant.expected:
        return "right"
    return "later" if mutant.expected.intersection(named) else "wrong"


def _right_row(report: Report) -> RightRow:
    return RightRow(
        name=report.submission,
        lost=_lost(report),
        failed=tuple(check.id for check in report.code() if check.status != "passed"),
        named=_named(report),
    )


def _lost(report: Report) -> Decimal:
    return sum((check.max_score - check.score for check in report.code()), Decimal(0))


def _named(report: Report) -> tuple[str, ...]:
    return tuple(dict.fromkeys(c.misconception for c in report.code() if c.misconception))


def _figures(assignment: Assignment, rows: Iterable[MutantRow]) -> Iterable[CheckFigures]:
    caught = [[catch.check for catch in row.caught] for row in rows]
    for milestone, check in assignment.checks():
        yield CheckFigures(
            check=check.id,
            milestone=milestone.id,
            caught=sum(check.id in names for names in caught),
            first=sum(names[:1] == [check.id] for names in caught),
            alone=sum(names == [check.id] for names in caught),
        )
