"""JUnit XML: a suite a milestone of a submission, with file and line of each failure."""

from decimal import Decimal
from xml.etree import ElementTree as ET

from grader.batch.store import Handed
from grader.export.base import Format, Source, Wanted, Written
from grader.export.wording import (
    explanation,
    line_of,
    path_of,
    reason,
    status_words,
    title_of,
)
from grader.report import CheckRow, MilestoneRow, Report
from grader.report.cells import one_line
from grader.report.terminal import points, printable

ERRORS = ("raised", "timed_out", "crashed")  # it did not get as far as being wrong
SKIPPED = ("blocked", "review")  # nobody can say yet


def write(source: Source, wanted: Wanted) -> Written:
    """The document; of a class, all of its submissions are in it."""
    root = ET.Element("testsuites", name="transformer-grader")
    counts: dict[str, int] = dict.fromkeys(("tests", "failures", "errors", "skipped"), 0)
    for handed, report in source.reports():
        for number, milestone in enumerate(report.milestones):
            suite = _suite(handed, report, milestone, wanted.base, is_first=number == 0)
            root.append(suite)
            for name in counts:
                counts[name] += int(suite.get(name, "0"))
    for name, count in counts.items():
        root.set(name, str(count))
    ET.indent(root)
    text = ET.tostring(root, encoding="unicode")
    return Written(f'<?xml version="1.0" encoding="UTF-8"?>\n{text}\n')


def _suite(
    handed: Handed, report: Report, milestone: MilestoneRow, base: str, is_first: bool
) -> ET.Element:
    suite = ET.Element("testsuite", name=one_line(f"{handed.id} {milestone.title}"))
    cases = [_case(handed, report, milestone, check, base) for check in milestone.checks]
    suite.set("tests", str(len(cases)))
    for name, tag in (("failures", "failure"), ("errors", "error"), ("skipped", "skipped")):
        suite.set(name, str(sum(case.find(tag) is not None for case in cases)))
    suite.set("time", f"{report.seconds if is_first else 0:.3f}")  # of the whole submission
    properties = ET.SubElement(suite, "properties")
    _property(properties, "score", milestone.score)
    _property(properties, "max_score", milestone.max_score)
    suite.extend(cases)
    why = reason(report)
    if why and is_first:
        ET.SubElement(suite, "system-err").text = why
    return suite


def _property(parent: ET.Element, name: str, value: Decimal) -> None:
    ET.SubElement(parent, "property", name=name, value=points(value))


def _case(
    handed: Handed, report: Report, milestone: MilestoneRow, check: CheckRow, base: str
) -> ET.Element:
    case = ET.Element(
        "testcase",
        classname=one_line(f"{report.assignment}.{milestone.id}"),
        name=one_line(f"{check.id}: {check.title}"),
        time="0",
    )
    path, line = path_of(check.location, base), line_of(check.location)
    if path:
        case.set("file", one_line(path))
    if line:
        case.set("line", str(line))
    if check.status != "passed":
        head = one_line(
            f"{title_of(milestone, check)} {points(check.score)} / {points(check.max_score)}"
        )
        tag = "failure"
        if check.status in ERRORS or report.status != "graded":
            tag = "error"
        elif check.status in SKIPPED:
            tag = "skipped"
        inner = ET.SubElement(case, tag, message=head)
        if tag != "skipped":
            inner.set("type", one_line(check.misconception or status_words(report, check)))
        inner.text = f"{printable(handed.id)}: {status_words(report, check)}\n{explanation(check)}"
    return case


FORMAT = Format("junit", "JUnit XML, with file and line", write, ("base",))
