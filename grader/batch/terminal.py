"""A class as a teacher reads it in a terminal: its table, its figures, and what changed."""

from collections.abc import Iterable, Sequence
from decimal import Decimal

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.batch.comparison import Change
from grader.batch.gradebook import ClassRow
from grader.batch.statistics import CheckFigures, MisconceptionFigures, Named, Statistics
from grader.report.terminal import points, printable

BAR = 40  # characters
NAMES = 8  # that stand in a line
EXPLAINED = 5  # misconceptions that are told at length
CHECKS = 12


def class_line(row: ClassRow) -> str:
    """A submission in a line, while a class is graded."""
    summary = row.summary
    score = f"{points(summary.score)}/{points(summary.max_score)}"
    how = f"in {summary.seconds:.1f} s" if row.is_new else "(unchanged)"
    return f"{printable(row.id)}: {summary.status} {score} {how}"


def class_table(rows: Sequence[ClassRow]) -> Table:
    """A class in a table: a line a submission, with milestones and misconceptions."""
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("submission", no_wrap=True, max_width=44)
    table.add_column("score", justify="right")
    for title in rows[0].summary.milestones if rows else ():
        table.add_column(title, justify="right")
    table.add_column("what to look at", overflow="fold")
    for row in rows:
        summary = row.summary
        style = "green" if summary.code_is_right else ""
        score = f"{points(summary.score)}/{points(summary.max_score)}"
        table.add_row(
            Text(printable(row.id), style=style),
            Text(score, style=style),
            *(points(score) for score in summary.milestones.values()),
            Text(summary.remark),
        )
    return table


def print_statistics(found: Statistics, console: Console) -> None:
    """Print a class at a glance, and what to explain again."""
    console.print()
    console.print(Text(f"{found.assignment}: {_counts(found)}", style="bold"))
    if found.spread is not None:
        spread = found.spread
        console.print(
            f"Points of {points(found.max_score)}: mean {spread.mean:.2f}, median "
            f"{spread.median:.2f}, a quarter below {spread.lower_quartile:.2f}, a quarter above "
            f"{spread.upper_quartile:.2f}; {found.full_marks} with full marks, "
            f"{found.code_is_right} with all of the code right"
        )
        console.print(_distribution(found))
        console.print(_milestones(found))
    if found.misconceptions:
        _heading("What to explain again", console)
        for misconception in found.misconceptions[:EXPLAINED]:
            console.print(_explained(misconception))
        rest = found.misconceptions[EXPLAINED:]
        if rest:
            names = ", ".join(f"{m.id} ({m.count})" for m in rest)
            console.print(Text(f"Also: {names}"))
    lost = [check for check in found.checks if check.lost]
    if lost:
        _heading("Where points were lost most often", console)
        console.print(_checks(lost))
    for title, named, count in (
        ("Refused", found.refused, found.refused_count),
        ("The grader itself failed", found.errors, len(found.errors)),
        ("To be looked at by a person", found.review, found.review_count),
        ("Slowest", found.slowest, len(found.slowest)),
    ):
        if named:
            console.print()
            console.print(_named(title, named, count))


def _counts(found: Statistics) -> str:
    parts = [f"{found.submissions} submissions", f"{found.graded} graded"]
    if found.refused_count:
        parts.append(f"{found.refused_count} refused")
    if found.errors:
        parts.append(f"{len(found.errors)} that the grader failed at")
    if found.review_count:
        parts.append(f"{found.review_count} for a person to look at")
    return ", ".join(parts)


def _heading(text: str, console: Console) -> None:
    console.print()
    console.print(Text(text, style="bold underline"))


def _distribution(found: Statistics) -> Table:
    table = Table(box=None, padding=(0, 1, 0, 0), show_header=False)
    table.add_column(justify="right")
    most = max(each.count for each in found.distribution)
    for each in found.distribution:
        bar = "█" * round(BAR * each.count / most) or ("▏" if each.count else "")
        span = f"{each.low:g} – {each.high:g}"
        table.add_row(span, Text(bar, style="cyan"), str(each.count) if each.count else "")
    return table


def _milestones(found: Statistics) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    for title in ("milestone", "mean", "of", "with all points"):
        table.add_column(title, justify="left" if title == "milestone" else "right")
    for milestone in found.milestones:
        share = f"{milestone.full / found.graded:.0%}"
        mean = f"{milestone.mean:.2f}"
        table.add_row(Text(milestone.title), mean, points(milestone.max_score), share)
    return table


def _explained(found: MisconceptionFigures) -> Text:
    text = Text.assemble((f"{found.id}", "bold"), f"  {found.count} ({found.rate:.0%})")
    if found.sentence:
        text.append(f"\n  {found.sentence}")
    if found.lesson:
        text.append(f"\n  reread: {found.lesson}", style="dim")
    text.append(f"\n  {_ids(found.submissions, found.count)}", style="dim")
    return text


def _checks(checks: Sequence[CheckFigures]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    table.add_column(justify="right")
    table.add_column(justify="right")
    for check in checks[:CHECKS]:
        parts = [f"{count} {name.replace('_', ' ')}" for name, count in check.statuses.items()]
        if check.unjudged:
            parts.append(f"{check.unjudged} not judged")
        count = f"{check.lost} of {check.judged}"
        title = Text(check.title)
        table.add_row(f"{check.rate:.0%}", count, check.id, title, ", ".join(parts))
    if len(checks) > CHECKS:
        table.add_row("", "", f"and {len(checks) - CHECKS} more")
    return table


def _named(title: str, named: Sequence[Named], count: int) -> Text:
    text = Text.assemble((f"{title}: ", "bold"))
    text.append(
        ", ".join(f"{printable(n.submission)} ({printable(n.what)})" for n in named[:NAMES])
    )
    if count > NAMES:
        text.append(f" and {count - NAMES} more")
    return text


def _ids(ids: Sequence[str], count: int) -> str:
    shown = ", ".join(printable(name) for name in ids[:NAMES])
    return f"{shown} and {count - NAMES} more" if count > NAMES else shown


def print_comparison(changes: Iterable[Change | None], console: Console) -> int:
    """Print whose grade changed and why; returns how many there are."""
    changed = same = 0
    for change in changes:
        if change is None:
            same += 1
            continue
        changed += 1
        whose = f" ({change.student})" if change.student else ""
        console.print(
            Text.assemble(
                (f"{printable(change.submission + whose)}", "bold"),
                f"  {_grade(change.before)} → {_grade(change.after)}",
                (f"  {printable('; '.join(change.causes))}" if change.causes else "", "dim"),
            )
        )
        for row in change.rows[:NAMES]:
            console.print(Text(f"  {row}"))
        if len(change.rows) > NAMES:
            console.print(f"  and {len(change.rows) - NAMES} more")
    console.print(f"{changed} of {changed + same} grades changed.")
    return changed


def _grade(score: Decimal | None) -> str:
    return "no grade" if score is None else points(score)
