"""Annotations on the student's own lines: commands that a GitHub workflow's log obeys."""

from grader.export.base import Format, Source, Wanted, Written
from grader.export.wording import explanation, line_of, path_of, reason, score_text
from grader.report import CheckRow, Report
from grader.report.cells import one_line

MOST = 10  # of a kind that a step's log may have
TITLE, TEXT = 120, 2_000  # characters


def annotations(report: Report, base: str = "") -> list[str]:
    """At most ten commands, those with a line first; a last one says how many more there are.

    Args:
        report: the report.
        base: where the submission lies in the repository.
    """
    why = reason(report)
    if why:
        place = next((f.location for f in report.findings if f.location is not None), None)
        where = {"file": path_of(place, base), "line": str(line_of(place) or "")}
        return [_command("error", where, why)]
    lost = [
        check for check in report.checks() if check.status not in ("passed", "blocked", "review")
    ]
    lost.sort(key=lambda check: check.location is None)
    shown = lost if len(lost) <= MOST else lost[: MOST - 1]
    commands = [_annotation(check, base) for check in shown]
    if len(shown) < len(lost):
        more = f"{len(lost) - len(shown)} more checks lost points: {score_text(report)}."
        commands.append(_command("error", {"title": "More"}, more))
    return commands


def _annotation(check: CheckRow, base: str) -> str:
    where = {
        "file": path_of(check.location, base),
        "line": str(line_of(check.location) or ""),
        "title": one_line(check.title, TITLE),
    }
    return _command("error", where, explanation(check))


def _command(name: str, properties: dict[str, str], text: str) -> str:
    given = ",".join(
        f"{key}={_escaped(one_line(value), ':,')}" for key, value in properties.items() if value
    )
    return f"::{name}{' ' if given else ''}{given}::{_escaped(text[:TEXT])}"


def _escaped(text: str, also: str = "") -> str:
    """A text as a command holds it: in one line, and in a property without what ends it."""
    text = text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")
    for character in also:
        text = text.replace(character, f"%{ord(character):02X}")
    return text


def write(source: Source, wanted: Wanted) -> Written:
    """The commands, a line each."""
    return Written("".join(f"{c}\n" for c in annotations(source.report(), wanted.base)))


FORMAT = Format("annotations", "a GitHub workflow's annotations", write, ("base",))
