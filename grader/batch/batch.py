"""Grades a class: one report a submission, written as it finishes, and the gradebook at the end."""

import csv
import io
import os
import secrets
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from pathlib import Path, PurePosixPath

from grader.assignment import Assignment
from grader.batch.roster import Roster
from grader.batch.submissions import Found
from grader.errors import InputError
from grader.grading import Grader
from grader.grading.marks import load_marks, make_mark, with_marks
from grader.intake import Reading, Submission
from grader.report import Report, read_report
from grader.report.terminal import points, printable, remark
from grader.worker.client import Launcher

GRADEBOOK = "gradebook.csv"
WHOSE = ("file", "student", "attempt", "late")  # columns that say what was handed in, and by whom
SECRET = ".secret"  # what the inputs of a class are drawn from
MARKS = "marks.json"  # what persons gave; it outlives every regrading


@dataclass(frozen=True)
class ClassRow:
    """A submission's line in the gradebook.

    Attributes:
        id: the submission's.
        file: the name that it had on disk.
        report: what grading it came to.
        student: ids of those who handed it in, with spaces between; "" where nobody says.
        attempt: which attempt it is, where the site tells them apart.
        late: whether the site marks it as late.
    """

    id: str
    file: str
    report: Report
    student: str = ""
    attempt: str = ""
    late: bool = False

    @property
    def students(self) -> list[str]:
        """The ids of those who handed it in."""
        return self.student.split()


def grade_class(
    found: list[Found],
    assignment: Assignment,
    out: Path,
    launcher: Launcher,
    secret: str = "",
    done: Callable[[ClassRow], None] | None = None,
    roster: Roster | None = None,
) -> list[ClassRow]:
    """Grade submissions one after the other.

    Args:
        found: the submissions.
        assignment: what they are graded for.
        out: where `reports/<id>.json` and `gradebook.csv` are written.
        launcher: starts workers.
        secret: what inputs are drawn from besides public names.
        done: called with each as it finishes.
        roster: the class list; its ids take the place of the site's, where it has them.

    Returns:
        A row for every submission, in their order.
    """
    out = out.absolute()  # grading happens in another folder
    found = [replace(submission, path=submission.path.absolute()) for submission in found]
    reports = out / "reports"
    try:
        reports.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise InputError(f"{reports} cannot be made a folder: {error.strerror}.") from None
    rows: list[ClassRow] = []
    marks = load_marks(out / MARKS)
    named = {submission.id: submission for submission in found}

    def read() -> Iterator[tuple[str, Submission | InputError]]:
        for submission in found:
            try:
                yield (
                    submission.id,
                    reading.read(submission.path, submission.id, submission.inside),
                )
            except InputError as error:
                yield submission.id, error

    def finish(report: Report) -> None:
        marked = with_marks(report, marks.of(report.submission))
        of = named[report.submission]
        student = of.student if roster is None else _in_roster(roster, of)
        row = ClassRow(of.id, of.file, marked, student, of.attempt, of.late)
        write_atomically(reports / f"{row.id}.json", marked.to_json())
        rows.append(row)
        if done is not None:
            done(row)

    try:
        with Reading() as reading:
            Grader(assignment, launcher, secret).grade_all(read(), done=finish)
    finally:
        _write_gradebook(out / GRADEBOOK, assignment.milestone_ids, rows)
    return rows


def class_secret(out: Path) -> str:
    """What the inputs of a class are drawn from: made at its first grading, and kept.

    So nobody can know them beforehand, all of the class get the same, and grading again gives the
    same reports.

    Args:
        out: the class's folder; the secret lies in it, readable by its owner alone.

    Raises:
        InputError: it cannot be read or written.
    """
    path = out / SECRET
    try:
        with open(path, encoding="ascii") as file:
            kept = file.read().strip()
        if kept:
            return kept
    except FileNotFoundError:
        pass
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path} cannot be read: {error}.") from None
    made = secrets.token_hex(16)
    write_atomically(path, made + "\n", mode=0o600)
    return made


def mark_in_class(out: Path, submission: str, check: str, score: Decimal, comment: str) -> ClassRow:
    """Enter a person's mark into a class: its marks, the report and the gradebook.

    Args:
        out: the class's folder.
        submission: its id, as the gradebook has it.
        check: the id of the check or question.
        score: the mark.
        comment: for the student.

    Raises:
        InputError: there is no such report or row, or the row is worth less.
    """
    rows = _read_class(out)
    chosen = next((row for row in rows if row.id == submission), None)
    if chosen is None:
        known = ", ".join(row.id for row in rows[:8])
        raise InputError(f"{out} has no report of {submission!r}: there is {known or 'none'}.")
    file = out / "reports" / f"{submission}.json"
    report = mark_report(chosen.report, file, out / MARKS, check, score, comment)
    marked = replace(chosen, report=report)
    rows = [marked if row is chosen else row for row in rows]
    _write_gradebook(out / GRADEBOOK, [m.id for m in chosen.report.milestones], rows)
    return marked


def mark_report(
    report: Report, file: Path, marks: Path, check: str, score: Decimal, comment: str
) -> Report:
    """Enter a person's mark into a report and into the file of marks; returns the marked report.

    Args:
        report: as it is in `file`.
        file: the report's file.
        marks: where marks are kept.
        check: the id of the check or question.
        score: the mark.
        comment: for the student.

    Raises:
        InputError: there is no such row, it is worth less, or a file cannot be written.
    """
    mark = make_mark(report, check, score, comment)
    write_atomically(marks, load_marks(marks).with_mark(mark).to_json())
    marked = with_marks(report, [mark])
    write_atomically(file, marked.to_json())
    return marked


def _read_class(out: Path) -> list[ClassRow]:
    """The class as its gradebook lists it, with the reports as they are on disk."""
    try:
        with open(out / GRADEBOOK, encoding="utf-8", newline="") as file:
            listed = [
                {key: _uncell(row[key]) for key in ("submission", *WHOSE)}
                for row in csv.DictReader(file)
            ]
    except (OSError, UnicodeDecodeError, KeyError, csv.Error):
        raise InputError(f"{out} holds no gradebook: name the --out of a class.") from None
    return [
        ClassRow(
            row["submission"],
            row["file"],
            load_report(out / "reports" / f"{row['submission']}.json"),
            row["student"],
            row["attempt"],
            row["late"] == "late",
        )
        for row in listed
    ]


def load_report(path: Path) -> Report:
    """The report in a file; raises InputError."""
    try:
        return read_report(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"{path} is no report of the grader.") from None


def write_atomically(path: Path, text: str, mode: int = 0o666) -> None:
    """Write a file so that it is there whole, or not at all, whatever ends this process.

    Args:
        path: the file, which is replaced.
        text: what is in it.
        mode: who may read it, as far as the process's mask allows.

    Raises:
        InputError: it cannot be written.
    """
    temporary = path.with_name(f".{path.name}.tmp")
    try:
        descriptor = os.open(temporary, os.O_CREAT | os.O_WRONLY | os.O_TRUNC, mode)
        with open(descriptor, "w", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())
        temporary.replace(path)
        _keep_name(path.parent)
    except OSError as error:
        temporary.unlink(missing_ok=True)
        raise InputError(f"{path} cannot be written: {error.strerror}.") from None


def _keep_name(folder: Path) -> None:
    """Have the disk keep the names in a folder, too: a file's own fsync keeps its contents."""
    if not hasattr(os, "O_DIRECTORY"):
        return  # Windows cannot
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)


def _write_gradebook(path: Path, milestones: Sequence[str], rows: list[ClassRow]) -> None:
    """One line a submission: id, file name, score, milestones, misconceptions, a remark."""

    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow(
        [
            "submission",
            *WHOSE,
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
                _cell(row.student),
                _cell(row.attempt),
                "late" if row.late else "",
                report.status,
                points(report.score),
                points(report.max_score),
                *(points(milestone.score) for milestone in report.milestones),
                sum(row.status == "review" for row in checks)
                + sum(finding.kind == "review" for finding in report.findings),
                " ".join(misconceptions(report)),
                _cell(remark(report)),
            ]
        )
    write_atomically(path, text.getvalue())


def _in_roster(roster: Roster, submission: Found) -> str:
    """The ids of a submission's students as the class list has them, or else as the site has them.

    Where no site says whose it is, its file's name does, if that is an id of the class list.
    """
    if not submission.student:
        row = roster.find(PurePosixPath(submission.file).stem)
        return row.key if row else ""
    rows = [(roster.find(student), student) for student in submission.student.split()]
    return " ".join(row.key if row else student for row, student in rows)


def misconceptions(report: Report) -> list[str]:
    """The misconceptions that a report names, each once, in order."""
    return list(dict.fromkeys(c.misconception for c in report.checks() if c.misconception))


def _uncell(text: str) -> str:
    """The text that `_cell` made a cell of, but for what it wrote as escapes."""
    return text[1:] if text.startswith("'") and _is_formula(text) else text


def _cell(text: str) -> str:
    """Text that no spreadsheet takes for a formula, and no reader of CSV for the end of a line."""
    text = printable(text).replace("\n", "\\n")
    return f"'{text}" if _is_formula(text) else text


def _is_formula(text: str) -> bool:
    """Whether a spreadsheet takes a text for a formula, quotes before it aside."""
    return text.lstrip("'").startswith(("=", "+", "-", "@", "\t"))
