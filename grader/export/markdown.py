"""Markdown: a report as a page or a workflow's summary has it, or a class as a table."""

import re
from collections.abc import Iterator

from grader.export.base import Format, Source, Wanted, Written
from grader.export.wording import (
    begin_with,
    explained,
    path_of,
    reason,
    score_text,
    status_words,
    title_of,
)
from grader.report import CheckRow, MilestoneRow, Report
from grader.report.cells import one_line
from grader.report.terminal import MARKS, points, printable

MOST_BYTES = 900_000  # a step's summary may have 1 MiB
LONG = 4_000  # characters of one text
SPECIAL = re.compile(r"([\\`*_{}\[\]#|~<>&$]|^[-+=](?=\s|$|[-+=])|^[0-9]+(?=[.)])|:(?=//)|!(?=\[))")
LINKED = re.compile(r"(?<=@)(?=\w)|(?<=[Ww]{3})(?=\.)")  # what is made a link without any markup
LEGEND = "✓ passed · ✗ lost · ⧖ took too long · ⊘ not allowed · – not tried · ? a person must look"


def write(source: Source, wanted: Wanted) -> Written:
    """The page."""
    lines = _class(source) if source.is_class else _report(source.report(), wanted.base)
    return Written("\n".join(_as_far_as_it_fits(lines)) + "\n")


def _as_far_as_it_fits(lines: Iterator[str]) -> Iterator[str]:
    size = 0
    for line in lines:
        size += len(line.encode()) + 1
        if size > MOST_BYTES:
            yield "\n…"
            return
        yield line


def _report(report: Report, base: str) -> Iterator[str]:
    title = report.assignment.replace("_", " ")
    yield f"## {_plain(one_line(report.submission))}, {_plain(title)}: {score_text(report)}"
    yield ""
    why = reason(report)
    if why:
        yield f"**{_plain(why)}**"
        return
    yield "| milestone | points | checks |"
    yield "| --- | ---: | --- |"
    for milestone in report.milestones:
        marks = "".join(MARKS[check.status][0] for check in milestone.checks)
        score = f"{points(milestone.score)} / {points(milestone.max_score)}"
        yield f"| {_plain(milestone.title)} | {score} | {marks} |"
    yield f"\n{LEGEND}"
    first = begin_with(report)
    if first:
        yield f"\n{_plain(first)}"
    for milestone in report.milestones:
        yield from _milestone(report, milestone, base)
    if report.findings:
        yield "\n### Also\n"
    for finding in report.findings[:20]:
        place = f"`{_code(str(finding.location))}` " if finding.location else ""
        yield f"- {place}{_plain(one_line(finding.message, LONG))}"


def _milestone(report: Report, milestone: MilestoneRow, base: str) -> Iterator[str]:
    lost = [c for c in milestone.checks if c.status not in ("passed", "blocked")]
    blocked = [c for c in milestone.checks if c.status == "blocked"]
    if lost or blocked:
        yield f"\n### {_plain(milestone.title)}"
    for check in lost:
        yield from _check(report, milestone, check, base)
    for why in dict.fromkeys(check.message or "" for check in blocked):
        names = ", ".join(_plain(one_line(c.id)) for c in blocked if (c.message or "") == why)
        yield f"\n– {_plain(why)} {names}"


def _check(report: Report, milestone: MilestoneRow, check: CheckRow, base: str) -> Iterator[str]:
    score = f"{points(check.score)} / {points(check.max_score)}"
    words = "" if check.status == "failed" else f" ({status_words(report, check)})"
    yield f"\n**{_plain(one_line(title_of(milestone, check)))}** {score}{words}\n"
    if check.location is not None:
        cell = "" if check.location.cell is None else f", cell {check.location.cell}"
        line = "" if check.location.line is None else f", line {check.location.line}"
        yield f"`{_code(path_of(check.location, base))}`{cell}{line}\n"
    for label, text in explained(check):
        if "\n" in text or label in ("expected", "got"):
            yield from _block(label, text[:LONG])
        else:
            yield f"{f'{label}: ' if label else ''}{_plain(text[:LONG])}\n"


def _block(label: str, text: str) -> Iterator[str]:
    """A text as it is, in a fence that is longer than any in it."""
    longest = max(map(len, re.findall("`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    if label:
        yield f"{label}\n"
    yield f"{fence}text\n{text}\n{fence}\n"


def _class(source: Source) -> Iterator[str]:
    yield f"## {_plain(source.assignment().replace('_', ' '))}"
    yield ""
    for number, row in enumerate(source.rows()):
        names = list(row.summary.milestones)
        if number == 0:
            yield f"| submission | points | {' | '.join(map(_plain, names))} | what to look at |"
            yield f"| --- | ---: |{' ---: |' * len(names)} --- |"
        summary = row.summary
        score = f"{points(summary.score)} / {points(summary.max_score)}"
        cells = (points(value) for value in summary.milestones.values())
        remark = _plain(one_line(summary.remark))
        yield f"| {_plain(one_line(row.id))} | {score} | {' | '.join(cells)} | {remark} |"


def _plain(text: str) -> str:
    """Text in which nothing is markup."""
    return LINKED.sub("\u200b", SPECIAL.sub(r"\\\1", " ".join(printable(text).split())))


def _code(text: str) -> str:
    return one_line(text).replace("`", "'")


FORMAT = Format("markdown", "Markdown", write, ("base",))
