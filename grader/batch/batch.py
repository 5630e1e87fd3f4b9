"""Grades a class: one report a submission, written as it finishes, and the gradebook at the end."""

import csv
import io
import os
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

from grader.assignment import Assignment
from grader.batch.submissions import Found
from grader.errors import InputError
from grader.grading import Grader
from grader.intake import gather
from grader.report import Report
from grader.report.terminal import points, remark
from grader.worker.client import Launcher


@dataclass(frozen=True)
class ClassRow:
    """A submission's line in the gradebook: its id, the name that it had on disk, its report."""

    id: str
    file: str
    report: Report


def grade_class(
    found: list[Found],
    assignment: Assignment,
    out: Path,
    launcher: Launcher,
    secret: str = "",
    done: Callable[[ClassRow], None] | None = None,
) -> list[ClassRow]:
    """Grade submissions one after the other.

    Args:
        found: the submissions.
        assignment: what they are graded for.
        out: where `reports/<id>.json` and `gradebook.csv` are written.
        launcher: starts workers.
        secret: what inputs are drawn from besides public names.
        done: called with each as it finishes.

    Returns:
        A row for every submission, in their order.
    """
    reports = out / "reports"
    try:
        reports.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{reports} cannot be made a folder: {error.strerror}.") from None
    rows: list[ClassRow] = []
    names = {submission.id: submission.path.name for submission in found}

    def read() -> Iterator[tuple[str, dict[str, bytes] | InputError]]:
        for submission in found:
            try:
                yield submission.id, gather(submission.path)
            except InputError as error:
                yield submission.id, error

    def finish(report: Report) -> None:
        row = ClassRow(report.submission, names[report.submission], report)
        write_atomically(reports / f"{row.id}.json", report.to_json())
        rows.append(row)
        if done is not None:
            done(row)

    try:
        Grader(assignment, launcher, secret).grade_all(read(), done=finish)
    finally:
        _write_gradebook(out / "gradebook.csv", assignment, rows)
    return rows


def write_atomically(path: Path, text: str) -> None:
    """Write a file so that it is there whole, or not at all; raises InputError."""
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        with open(temporary, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
    except OSError as error:
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def _write_gradebook(path: Path, assignment: Assignment, rows: list[ClassRow]) -> None:
    """One line a submission: id, file name, score, milestones, misconceptions, a remark."""

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    milestones = [milestone.id for milestone in assignment.milestones]
    writer.writerow(
        [
            "submission",
            "file",
            "status",
            "score",
            "max_score",
            *milestones,
            "review",
            "misconceptions",
            "remark",
        ]
    )
    for row in rows:
        report = row.report
        checks = report.checks()
        writer.writerow(
            [
                _cell(row.id),
                _cell(row.file),
                report.status,
                points(report.score),
                points(report.max_score),
                *(points(milestone.score) for milestone in report.milestones),
                sum(check.status == "review" for check in checks),
                " ".join(misconceptions(report)),
                _cell(remark(report)),
            ]
        )
    write_atomically(path, text.getvalue())


def misconceptions(report: Report) -> list[str]:
    """The misconceptions that a report names, each once, in order."""
    return list(dict.fromkeys(c.misconception for c in report.checks() if c.misconception))


def _cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula."""
    return f"'{text}" if text.startswith(("=", "+", "-", "@", "\t", "\r")) else text
