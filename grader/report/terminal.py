"""The report as a student reads it in a terminal."""

import re
from collections.abc import Sequence
from decimal import Decimal

from rich.console import Console, Group, RenderableType
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from grader.assignment.questions import MILESTONE as QUESTIONS
from grader.report.model import CheckRow, Finding, MilestoneRow, Report

MARKS = {
    "passed": ("✓", "green"),
    "failed": ("✗", "red"),
    "raised": ("✗", "red"),
    "timed_out": ("⧖", "red"),
    "crashed": ("✗", "red"),
    "refused": ("⊘", "red"),
    "blocked": ("–", "dim"),
    "review": ("?", "yellow"),
}
WORDS = {
    "failed": "failed",
    "raised": "raised an exception",
    "timed_out": "took too long",
    "crashed": "its process ended",
    "refused": "not allowed",
    "blocked": "not tried",
    "review": "a person must look",
}

RUN_IN = {
    "namespaces": "Run in a sandbox (namespaces).",
    "limits": "Run in a sandbox (limits: no namespaces here; `grader doctor` says why).",
    "none": "Run without a sandbox: do that with code of your own only. `grader doctor` says why.",
}
# What a GitHub workflow takes for a command: two colons at the beginning of a line, which may be
# broken at any blank, or the older form, which it finds anywhere in a line.
COMMAND = re.compile(r"(?<!\S)::(?=[A-Za-z][\w-]*(?:\s|::))")
OLDER_COMMAND = re.compile(r"##(?=\[)")


def points(value: Decimal) -> str:
    """Points without trailing zeros: "2.5", "3"."""
    text = f"{value:f}"
    return text.rstrip("0").rstrip(".") if "." in text else text


def printable(text: str) -> str:
    """Text that came from a submission, without what a terminal or a workflow's log would obey.

    Control characters, those that turn the direction, and halves of surrogate pairs are written as
    escapes; what a workflow takes for a command gets a backslash, wherever a line may be broken.
    """
    text = OLDER_COMMAND.sub(r"#\\#", COMMAND.sub(r"\\\g<0>", text))
    if text.replace("\n", "").replace("\t", "").isprintable():
        return text  # as nearly all are, and long ones take their time
    return "".join(c if c in "\n\t" or c.isprintable() else f"\\x{ord(c):02x}" for c in text)


def print_report(report: Report, console: Console, milestones: Sequence[str] = ()) -> None:
    """Print a report: milestones with their points, then each problem and how to mend it.

    Args:
        report: what is printed.
        console: where to.
        milestones: ids of those to print; all when empty.
    """
    chosen = [m for m in report.milestones if not milestones or m.id in milestones]
    console.print()
    console.print(
        Text.assemble(
            (printable(report.submission), "bold"), " · ", report.assignment.replace("_", " ")
        )
    )
    if report.status == "refused":
        for finding in report.findings:
            console.print(Text(f"Not graded. {printable(finding.message)}", style="red"))
        return
    console.print(_overview(chosen))
    explained: set[str] = set()
    for milestone in chosen:
        rows = [c for c in milestone.checks if c.status not in ("passed", "blocked")]
        blocked = [c for c in milestone.checks if c.status == "blocked"]
        if not rows and not blocked:
            continue
        console.print()
        console.print(Text(milestone.title, style="bold underline"))
        for check in rows:
            if check.misconception in explained and check.status == "failed":
                console.print(_again(check))
            else:
                console.print(_problem(check))
                explained.add(check.misconception or check.id)
        if blocked:
            console.print(_blocked(blocked))
    _print_findings(report.findings, console)
    console.print()
    console.print(_verdict(report, chosen))
    if any(check.status not in ("refused", "blocked") for check in report.code()):
        console.print(Text(RUN_IN[report.environment.isolation], style="dim"))


def _overview(milestones: list[MilestoneRow]) -> RenderableType:
    table = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    for milestone in milestones:
        style = "green" if milestone.score == milestone.max_score else "yellow"
        marks = Text()
        for check in milestone.checks:
            mark, color = MARKS[check.status]
            marks.append(mark, style=color)
        score = f"{points(milestone.score)} / {points(milestone.max_score)}"
        table.add_row(milestone.title, Text(score, style=style), marks)
    return table


def _again(check: CheckRow) -> RenderableType:
    """A problem that comes of a mistake that was explained above: a line is enough."""
    head = _head(check)
    head.append(f"\n  the same mistake: {check.misconception}\n", style="dim")
    return head


def _head(check: CheckRow) -> Text:
    mark, color = MARKS[check.status]
    head = Text.assemble((f"{mark} ", color), (check.title, "bold"))
    head.append(f"  {points(check.score)} / {points(check.max_score)}", style="dim")
    if check.status != "failed":
        head.append(f"  ({WORDS[check.status]})", style=color)
    return head


def _problem(check: CheckRow) -> RenderableType:
    body = Table(box=None, padding=(0, 2, 0, 0), show_header=False)
    body.add_column(style="dim", no_wrap=True)
    body.add_column(overflow="fold")
    rows = [
        ("", check.message),
        ("expected", check.expected),
        ("got", check.got),
        ("where", str(check.location) if check.location else None),
        ("mistake", check.misconception),
        ("hint", check.hint),
        ("reread", check.lesson),
    ]
    for label, text in rows:
        if text:
            body.add_row(label, Text(printable(text)))
    return Group(_head(check), Padding(body, (0, 0, 1, 2)))


def _blocked(checks: list[CheckRow]) -> RenderableType:
    """One line for each reason, with the checks that were not tried for it."""
    reasons: dict[str, list[CheckRow]] = {}
    for check in checks:
        reasons.setdefault(check.message or "", []).append(check)
    lines: list[RenderableType] = []
    for reason, group in reasons.items():
        total = points(sum((c.max_score for c in group), Decimal(0)))
        names = ", ".join(check.id for check in group)
        text = Text(f"– {printable(reason)}", style="dim")
        text.append(f"\n  {names} (0 / {total})", style="dim")
        lines.append(text)
    return Group(*lines)


def _print_findings(findings: Sequence[Finding], console: Console) -> None:
    if not findings:
        return
    console.print()
    console.print(Text("Also", style="bold underline"))
    for finding in findings[:20]:
        style = (
            "red" if finding.kind == "disallowed" else "yellow" if finding.kind == "review" else ""
        )
        place = f"{finding.location}: " if finding.location else ""
        if finding.location and finding.message.startswith(finding.location.file):
            place = ""
        console.print(Text(f"• {printable(place + finding.message)}", style=style))
    if len(findings) > 20:
        console.print(f"• and {len(findings) - 20} more")


def _verdict(report: Report, milestones: list[MilestoneRow]) -> Text:
    score = sum((m.score for m in milestones), Decimal(0))
    total = sum((m.max_score for m in milestones), Decimal(0))
    if report.status == "error":
        return Text("The grader itself failed; this is not a grade. See above.", style="bold red")
    text = Text(f"{points(score)} of {points(total)} points", style="bold")
    review = sum(c.status == "review" for m in milestones for c in m.checks)
    code = [c for m in milestones if m.id != QUESTIONS for c in m.checks]
    asked = [c for m in milestones if m.id == QUESTIONS for c in m.checks]
    if score == total:
        text.append(" – everything is right.", style="green")
    elif code and all(c.status == "passed" for c in code):
        missing = sum(c.status == "blocked" for c in asked)
        text.append(" – all of the code is right", style="green")
        text.append(f"; {missing} questions are not answered." if missing else ".", style="green")
    else:
        lost = [c for m in milestones for c in m.checks if c.status != "passed"]
        first = next((c for c in lost if c.status != "blocked"), lost[0])
        text.append(f" – begin with: {first.title}", style="yellow")
    if review:
        text.append(f" {review} to be looked at by a person.")
    text.append(f"  ({report.seconds:.1f} s)", style="dim")
    return text


def remark(report: Report) -> str:
    """The misconceptions that a report names, or else what went wrong first."""
    if report.status != "graded":
        return printable(
            f"{report.status}: {report.findings[0].message if report.findings else ''}"
        )
    checks = report.checks()
    named = list(dict.fromkeys(c.misconception for c in checks if c.misconception))
    if named:
        return ", ".join(named)
    first = next((c for c in report.code() if c.status not in ("passed", "blocked")), None)
    if first is None:
        return ""
    if first.status in ("timed_out", "crashed", "raised"):
        return printable(f"{WORDS[first.status]}: {first.id}")
    message = (first.message or "").splitlines()[:1]
    return printable(": ".join([first.id, *message]))[:100]
