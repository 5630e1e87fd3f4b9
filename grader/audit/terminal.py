"""An audit as its reader sees it in a terminal: the kill matrix, and what is wrong with it."""

from collections.abc import Iterable

from rich.console import Console
from rich.table import Table
from rich.text import Text

from grader.audit.model import Audit, CheckFigures, MutantRow, Verdict
from grader.report.terminal import points

STYLES: dict[Verdict, str] = {
    "right": "green", "later": "yellow", "unknown": "yellow", "wrong": "red", "kept": "red",
    "error": "red",
}  # fmt: skip
WORDS: dict[Verdict, str] = {
    "right": "right",
    "later": "right, but not first",
    "unknown": "no diagnosis",
    "wrong": "wrong diagnosis",
    "kept": "keeps full marks",
    "error": "the grader failed",
}


def print_audit(audit: Audit, console: Console, checks: bool = True) -> None:
    """Print an audit: every mutant, what right submissions lost, idle checks, and the figures.

    Args:
        audit: what is printed.
        console: where to.
        checks: whether to tell which checks catch nothing of their own; pointless for few mutants.
    """
    console.print(_matrix(audit.mutants))
    for row in audit.rejected:
        why = ", ".join((*row.failed, *row.named))
        console.print(Text(f"{row.name} is right and loses {points(row.lost)}: {why}", style="red"))
    if checks:
        _print_checks("No mutant fails", audit.idle, console)
        what = "Never the first to catch a mutant (of how many it does)"
        _print_checks(what, audit.never_first, console)
    console.print()
    for line in figures(audit):
        console.print(line, markup=False)


def figures(audit: Audit) -> list[str]:
    """The audit in three lines."""
    total = len(audit.mutants)
    named = f"{audit.count('right')} right, {audit.count('later')} right but not first"
    accepted = len(audit.right) - len(audit.rejected)
    return [
        f"{audit.assignment}: mutants caught {total - audit.count('kept', 'error')}/{total}",
        f"diagnosis: {named}, {audit.count('unknown')} none, {audit.count('wrong')} wrong",
        f"right submissions: {accepted}/{len(audit.right)} lose nothing, "
        f"{len(audit.rejected)} false rejections",
    ]


def _matrix(rows: Iterable[MutantRow]) -> Table:
    table = Table(box=None, padding=(0, 2, 0, 0), header_style="bold")
    table.add_column("mutant", no_wrap=True)
    table.add_column("lost", justify="right")
    table.add_column("caught by", overflow="fold")
    table.add_column("named", overflow="fold")
    table.add_column("diagnosis", no_wrap=True)
    for row in rows:
        table.add_row(
            row.name,
            points(row.lost),
            _caught(row),
            ", ".join(row.named),
            Text(WORDS[row.verdict], style=STYLES[row.verdict]),
        )
    return table


def _caught(row: MutantRow) -> str:
    """The first check that caught it, and how many more."""
    more = f" +{len(row.caught) - 1}" if len(row.caught) > 1 else ""
    return f"{row.caught[0].check}{more}" if row.caught else ""


def _print_checks(what: str, checks: Iterable[CheckFigures], console: Console) -> None:
    names = [f"{check.check} ({check.caught})" if check.caught else check.check for check in checks]
    if names:
        console.print()
        console.print(f"{what}: {', '.join(names)}", markup=False)
