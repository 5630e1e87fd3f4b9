"""`gradebook.csv` and the reports, made from a class's store and the marks of persons."""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from pathlib import Path

from grader.batch.folder import GRADEBOOK, MARKS, alone_in, report_file, write_atomically
from grader.batch.store import Handed, Kept, Store
from grader.errors import InputError
from grader.grading.marks import Marks, load_marks, make_mark, with_marks
from grader.report import Report, read_report
from grader.report.cells import cell
from grader.report.summary import Summary, summarise
from grader.report.terminal import points

WHOSE = ("file", "student", "attempt", "late")  # columns that say what was handed in, and by whom


@dataclass(frozen=True)
class ClassRow:
    """A submission's line in the gradebook.

    Attributes:
        handed: what it is called, and whose it is.
        summary: its report in short, with the marks that a person gave.
        is_new: whether this run graded it; not so where it was unchanged.
    """

    handed: Handed
    summary: Summary
    is_new: bool = False

    @property
    def id(self) -> str:
        """The submission's id."""
        return self.handed.id

    @property
    def students(self) -> list[str]:
        """The ids of those who handed it in."""
        return self.handed.student.split()


class Marked:
    """The gradings of a class with the marks that persons gave.

    Args:
        store: the gradings.
        marks: the marks.
    """

    def __init__(self, store: Store, marks: Marks) -> None:
        self._store = store
        self._of: dict[str, Marks] = {}
        for mark in marks.marks:
            self._of[mark.submission] = self._of.get(mark.submission, Marks()).with_mark(mark)

    def has_marks(self, submission: str) -> bool:
        """Whether a person marked anything of a submission."""
        return submission in self._of

    def apply(self, submission: str, text: str) -> str:
        """A report's JSON with the marks of its submission in place of its own scores."""
        if not self.has_marks(submission):
            return text
        return self._with_marks(submission, read_report(text)).to_json()

    def text(self, kept: Kept) -> str:
        """The JSON of a kept grading's report, with the marks."""
        return self.apply(kept.handed.id, self._store.report(kept.number))

    def summary(self, kept: Kept) -> Summary:
        """The summary of a kept grading, with the marks."""
        if not self.has_marks(kept.handed.id):
            return kept.summary
        report = self._store.read(kept.number)
        return summarise(self._with_marks(kept.handed.id, report))

    def _with_marks(self, submission: str, report: Report) -> Report:
        return with_marks(report, self._of[submission].marks)

    def rows(self) -> Iterator[ClassRow]:
        """Every submission's line."""
        for kept in self._store.latest():
            yield ClassRow(kept.handed, self.summary(kept))


def read_class(out: Path) -> Iterator[ClassRow]:
    """The lines of a class's gradebook, one by one.

    Raises:
        InputError: the folder holds no class, or its store cannot be read.
    """
    with Store(out) as store:
        yield from Marked(store, load_marks(out / MARKS)).rows()


def mark_in_class(out: Path, submission: str, check: str, score: Decimal, comment: str) -> Report:
    """Enter a person's mark into a class: its marks, the report and the gradebook.

    Args:
        out: the class's folder.
        submission: its id, as the gradebook has it.
        check: the id of the check or question.
        score: the mark.
        comment: for the student.

    Returns:
        The marked report.

    Raises:
        InputError: there is no such submission or row, or the row is worth less.
    """
    with Store(out) as store:  # the folder is a class's, and stays as it is if it is not
        assignment = store.assignment
    with alone_in(out), Store(out, assignment) as store:
        chosen = store.latest_of(submission)
        if chosen is None and submission.startswith("'"):  # as the gradebook's cell has it
            submission = submission[1:]
            chosen = store.latest_of(submission)
        if chosen is None:
            known = ", ".join(
                kept.handed.id for kept, _ in zip(store.latest(), range(8), strict=False)
            )
            raise InputError(f"{out} has no report of {submission!r}: there is {known or 'none'}.")
        marks = load_marks(out / MARKS)
        report = with_marks(store.read(chosen.number), marks.of(submission))
        mark = make_mark(report, check, score, comment)
        marks = marks.with_mark(mark)
        write_atomically(out / MARKS, marks.to_json())
        marked = Marked(store, marks)
        text = marked.text(chosen)
        write_atomically(report_file(out, submission), text)
        write_gradebook(out, marked.rows())
    return read_report(text)


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


def load_report(path: Path) -> Report:
    """The report in a file; raises InputError."""
    try:
        return read_report(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    except ValueError:
        raise InputError(f"{path} is no report of the grader.") from None


def write_gradebook(out: Path, rows: Iterable[ClassRow]) -> None:
    """Write a line a submission: ids, score, milestones, misconceptions, a remark.

    Args:
        out: the class's folder.
        rows: the lines.

    Raises:
        InputError: the file cannot be written.
    """
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    milestones: Sequence[str] = ()
    for number, row in enumerate(rows):
        summary, handed = row.summary, row.handed
        if number == 0:
            milestones = list(summary.milestones)
            writer.writerow(_header(milestones))
        writer.writerow(
            [
                *map(cell, (handed.id, handed.file, handed.student, handed.attempt)),
                "late" if handed.late else "",
                summary.status,
                points(summary.score),
                points(summary.max_score),
                *(points(summary.milestones.get(name, Decimal(0))) for name in milestones),
                summary.review,
                " ".join(summary.misconceptions),
                cell(summary.remark),
            ]
        )
    if not milestones:
        writer.writerow(_header(()))
    write_atomically(out / GRADEBOOK, text.getvalue())


def _header(milestones: Sequence[str]) -> list[str]:
    scores = ("status", "score", "max_score", *milestones)
    return ["submission", *WHOSE, *scores, "review", "misconceptions", "remark"]
