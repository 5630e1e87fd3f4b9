"""CSV: a line a row of the report, of one submission or of a whole class."""

import csv
import io

from grader.export.base import Format, Source, Wanted, Written
from grader.export.wording import path_of
from grader.report.cells import cell
from grader.report.terminal import points

HEADER = (
    "submission", "student", "assignment", "milestone", "check", "title", "status", "score",
    "max_score", "misconception", "message", "expected", "got", "hint", "lesson", "file", "line",
    "cell",
)  # fmt: skip


def write(source: Source, wanted: Wanted) -> Written:
    """The file, in UTF-8; text that a spreadsheet takes for a formula has a quote before it."""
    out = io.StringIO()
    writer = csv.writer(out, lineterminator="\r\n")
    writer.writerow(HEADER)
    for handed, report in source.reports():
        for milestone in report.milestones:
            for check in milestone.checks:
                place = check.location
                texts = (handed.id, handed.student, report.assignment, milestone.id, check.id)
                writer.writerow(
                    [
                        *map(cell, (*texts, check.title, check.status)),
                        points(check.score),
                        points(check.max_score),
                        *(
                            cell(text or "")
                            for text in (
                                check.misconception,
                                check.message,
                                check.expected,
                                check.got,
                                check.hint,
                                check.lesson,
                                path_of(place, wanted.base),
                            )
                        ),
                        (place.line if place is not None else None) or "",
                        "" if place is None or place.cell is None else place.cell,
                    ]
                )
    return Written(out.getvalue())


FORMAT = Format("csv", "CSV, a line a check", write, ("base",))
