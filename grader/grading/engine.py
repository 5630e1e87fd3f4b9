"""From submissions to their reports, in one run of pytest over all of them."""

import sys
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager

from grader.assignment import Assignment
from grader.errors import InputError
from grader.grading.pytest_run import run_pytest
from grader.grading.scoring import refusal, report_of
from grader.intake import Reading, Submission
from grader.intake.reader import digest
from grader.report import Report
from grader.worker.client import Launcher, make_launcher

Files = Mapping[str, bytes]
DEEP = 10_000  # calls in one another: a syntax tree may be nested that deeply


@contextmanager
def recursion_limit(limit: int) -> Iterator[None]:
    """Let functions call one another at least so deep."""
    before = sys.getrecursionlimit()
    sys.setrecursionlimit(max(before, limit))
    try:
        yield
    finally:
        sys.setrecursionlimit(before)


class Grader:
    """Grades submissions for one assignment, with workers that a launcher starts.

    Args:
        assignment: what is graded.
        launcher: starts workers.
        secret: with a teacher's secret, inputs cannot be foreseen; "" for public inputs.
    """

    def __init__(self, assignment: Assignment, launcher: Launcher, secret: str = "") -> None:
        self.assignment = assignment
        self.launcher = launcher
        self.secret = secret

    def grade(
        self, files: Files | Submission, name: str, progress: Callable[[str], None] | None = None
    ) -> Report:
        """The report of one submission.

        Args:
            files: its files' contents by relative path, or the submission that they were read as.
            name: what it is called in the report.
            progress: called with the id of each check before it runs.
        """
        (report,) = self.grade_all([(name, files)], progress)
        return report

    def grade_all(
        self,
        submissions: Iterable[tuple[str, Files | Submission | InputError]],
        progress: Callable[[str], None] | None = None,
        done: Callable[[Report], None] | None = None,
    ) -> list[Report]:
        """The reports of many submissions, in one run of pytest.

        Args:
            submissions: names, each with its files, with what they were read as, or with why they
                cannot be read; taken one by one.
            progress: called with the id of each check before it runs.
            done: called with each report as soon as it is there.
        """
        reports: list[Report] = []

        def finish(report: Report) -> None:
            reports.append(report)
            if done is not None:
                done(report)

        self.grade_each(submissions, finish, progress)
        return reports

    def grade_each(
        self,
        submissions: Iterable[tuple[str, Files | Submission | InputError]],
        done: Callable[[Report], None],
        progress: Callable[[str], None] | None = None,
    ) -> None:
        """Grade submissions for as long as there are any, in one run of pytest; keeps none.

        Args:
            submissions: as for `grade_all`.
            done: called with each report as soon as it is there.
            progress: called with the id of each check before it runs.
        """
        from grader.grading.plugin import GradingPlugin, Run
        from grader.student import Session

        begun = 0.0

        def sessions() -> Iterator[Session]:
            nonlocal begun
            for name, files in submissions:
                begun = time.monotonic()
                try:
                    if isinstance(files, InputError):
                        raise files
                    submission = (
                        files if isinstance(files, Submission) else reading.read(files, name)
                    )
                    session = Session(submission, self.assignment, self.launcher)
                except (InputError, RecursionError) as error:
                    done(self._refusal(name, files, error, time.monotonic() - begun))
                else:
                    yield session

        def scored(run: Run) -> None:
            seconds = time.monotonic() - begun
            done(report_of(run, self.assignment, run.session.isolation, seconds))

        plugin = GradingPlugin(
            self.assignment, self.secret, sessions(), scored, progress or (lambda _: None)
        )
        with Reading() as reading, recursion_limit(DEEP):
            run_pytest(self.assignment, plugin)

    def _refusal(
        self,
        name: str,
        files: Files | Submission | InputError,
        error: InputError | RecursionError,
        seconds: float,
    ) -> Report:
        """The report of what could not be read."""
        if isinstance(error, RecursionError):
            return refusal(
                self.assignment,
                name,
                "",
                InputError(f"{name} is nested too deeply to be read."),
                seconds,
            )
        known = ""
        if isinstance(files, Submission):
            known = files.digest
        elif not isinstance(files, InputError):
            known = digest(files)
        return refusal(self.assignment, name, known, error, seconds)


def grade(files: Files, name: str, assignment: Assignment, secret: str = "") -> Report:
    """The report of one submission: a function of its bytes, the assignment and the secret.

    Args:
        files: the submission's files: contents by relative path.
        name: what it is called in the report.
        assignment: what it is graded for.
        secret: what inputs are drawn from besides public names.
    """
    with make_launcher() as launcher:
        return Grader(assignment, launcher, secret).grade(files, name)
