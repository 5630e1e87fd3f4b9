"""Grades a class: what is unchanged is kept, the rest is graded, and each is written as it ends."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path, PurePosixPath

from grader.assignment import Assignment
from grader.batch.executor import Executor, Result, Task
from grader.batch.fingerprint import Circumstances, circumstances
from grader.batch.folder import (
    MARKS,
    REPORTS,
    alone_in,
    bring_to_disk,
    make_folder,
    report_file,
    write_atomically,
)
from grader.batch.gradebook import ClassRow, Marked, write_gradebook
from grader.batch.roster import Roster
from grader.batch.store import Grading, Handed, Store
from grader.batch.submissions import Found, with_ids
from grader.batch.watcher import Watcher
from grader.errors import InputError
from grader.grading.marks import load_marks
from grader.grading.scoring import failure, refusal
from grader.intake import Reading
from grader.intake.reader import digest
from grader.intake.text import writable
from grader.report import Report, read_report
from grader.report.summary import summarise


@dataclass
class Count:
    """How many submissions a run has finished.

    Attributes:
        graded: newly graded, those below among them.
        kept: unchanged, so that their earlier grading stands.
        refused: of all, those that could not be read.
        errors: of all, those at which the grader itself failed.
    """

    graded: int = 0
    kept: int = 0
    refused: int = 0
    errors: int = 0

    @property
    def finished(self) -> int:
        """How many have a report."""
        return self.graded + self.kept

    def add(self, row: ClassRow) -> None:
        """Count one more."""
        self.graded += row.is_new
        self.kept += not row.is_new
        self.refused += row.summary.status == "refused"
        self.errors += row.summary.status == "error"


@dataclass
class _Class:
    """A class that is being graded: where it is written, and what is known of it."""

    assignment: Assignment
    out: Path
    store: Store
    marked: Marked
    where: Circumstances
    watcher: Watcher
    regrade: bool
    handed: dict[str, Handed]
    count: Count = field(default_factory=Count)
    begun: dict[str, str] = field(default_factory=dict)

    def finish(self, row: ClassRow) -> None:
        """Count a row, and tell of it."""
        self.count.add(row)
        self.watcher.finished(row)


def grade_class(
    found: list[Found],
    assignment: Assignment,
    out: Path,
    executor: Executor,
    secret: str = "",
    watcher: Watcher | None = None,
    roster: Roster | None = None,
    regrade: bool = False,
) -> Count:
    """Grade a class, as far as it is not graded already.

    A submission is graded once for its bytes, the assignment, the grader's version and the secret;
    the same call goes on where an earlier one was stopped, at whatever moment that was.

    Args:
        found: the submissions.
        assignment: what they are graded for.
        out: where the store, `reports/<id>.json` and `gradebook.csv` are written.
        executor: grades them; it was set up for the same assignment and secret.
        secret: what inputs are drawn from besides public names.
        watcher: hears of each.
        roster: the class list; its ids take the place of the site's, where it has them.
        regrade: grade also what is unchanged.

    Returns:
        How many there were; `read_class` has the rows.

    Raises:
        InputError: the folder cannot be used, or nothing can be graded here.
    """
    make_folder(out)
    with alone_in(out), Store(out, assignment.id) as store:
        make_folder(out / REPORTS)
        found = with_ids(found, store.origins())
        handed = [_handed(submission, roster) for submission in found]
        # What is not there gets a report that says so, and is no member of the class.
        store.see([h for h, f in zip(handed, found, strict=True) if f.is_there])
        graded = _Class(
            assignment,
            out,
            store,
            Marked(store, load_marks(out / MARKS)),
            circumstances(assignment, secret),
            watcher or Watcher(),
            regrade,
            {each.id: each for each in handed},
        )
        try:
            with Reading() as reading:
                tasks = _tasks(graded, found, reading)
                for result in executor.run(tasks, graded.watcher):
                    _finish(graded, result)
        finally:
            write_gradebook(out, graded.marked.rows())
            bring_to_disk()
    return graded.count


def _tasks(graded: _Class, found: list[Found], reading: Reading) -> Iterator[Task]:
    """What is to be graded, each gathered when it is asked for; what is not is finished here."""
    for submission in found:
        name = submission.id
        try:
            gathered, of = reading.gather(submission.path, name, submission.inside)
        except InputError as error:
            of = digest({"refused": str(error).encode()})  # so it is not refused again and again
            if not _is_kept(graded, name, of):
                report = refusal(graded.assignment, name, "", error)
                graded.begun[name] = _now()
                _keep(graded, name, of, report, tries=1)
            continue
        if not _is_kept(graded, name, of):
            graded.begun[name] = _now()
            yield Task(name, of, gathered.files, gathered.notes)


def _is_kept(graded: _Class, name: str, of: str) -> bool:
    """Whether a submission was graded already, as it would be now; if so, it is finished."""
    kept = None if graded.regrade else graded.store.latest_of(name)
    if kept is None or (kept.digest, kept.circumstances) != (of, graded.where):
        return False
    if kept.summary.status == "error":
        return False  # the grader's own fault, which may be mended
    text = graded.marked.text(kept)
    file = report_file(graded.out, name)
    if not _holds(file, text):  # it was stopped between keeping and writing
        write_atomically(file, text, outlasts_power=False)
    graded.finish(ClassRow(graded.handed[name], graded.marked.summary(kept)))
    return True


def _holds(file: Path, text: str) -> bool:
    try:
        return file.read_bytes() == text.encode()
    except OSError:
        return False


def _finish(graded: _Class, result: Result) -> None:
    """Keep what came of a task."""
    task = result.task
    report = result.read()
    if report is None or report.submission != task.id:
        fault = result.fault or "what came back is no report"
        report = failure(graded.assignment, task.id, task.digest, fault)
    _keep(graded, task.id, task.digest, report, result.tries)


def _keep(graded: _Class, name: str, of: str, report: Report, tries: int) -> None:
    """Keep a report in the store, and write it; in this order, so that none is lost."""
    text, summary, handed = report.to_json(), summarise(report), graded.handed[name]
    begun = graded.begun.pop(name)
    graded.store.add(Grading(handed, of, graded.where, begun, _now(), tries, summary, text))
    if graded.marked.has_marks(name):
        text = graded.marked.apply(name, text)
        summary = summarise(read_report(text))
    # The store has it on the disk already; the file would be made from that again.
    write_atomically(report_file(graded.out, name), text, outlasts_power=False)
    graded.finish(ClassRow(handed, summary, is_new=True))


def _now() -> str:
    return datetime.now(UTC).isoformat(timespec="milliseconds")


def _handed(submission: Found, roster: Roster | None) -> Handed:
    """What a submission is called, and whose it is by the class list or the site."""
    student = submission.student if roster is None else _in_roster(roster, submission)
    return Handed(
        submission.id,
        writable(submission.file),
        writable(student),
        submission.attempt,
        submission.late,
        submission.origin,
    )


def _in_roster(roster: Roster, submission: Found) -> str:
    """The ids of a submission's students as the class list has them, or else as the site has them.

    Where no site says whose it is, its file's name does, if that is an id of the class list.
    """
    if not submission.student:
        row = roster.find(PurePosixPath(submission.file).stem)
        return row.key if row else ""
    rows = [(roster.find(student), student) for student in submission.student.split()]
    return " ".join(row.key if row else student for row, student in rows)
