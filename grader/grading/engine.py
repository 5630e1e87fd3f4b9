"""From submissions to their reports, in one run of pytest over all of them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping

from grader.assignment import Assignment
from grader.errors import InputError
from grader.grading.pytest_run import run_pytest
from grader.grading.scoring import refusal, report_of
from grader.intake import read
from grader.intake.reader import digest
from grader.report import Report
from grader.worker.client import Launcher, make_launcher

Files = Mapping[str, bytes]


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
        self.peak_bytes = 0

    def grade(
        self, files: Files, name: str, progress: Callable[[str], None] | None = None
    ) -> Report:
        """The report of one submission.

        Args:
            files: its files' contents by relative path.
            name: what it is called in the report.
            progress: called with the id of each check before it runs.
        """
        (report,) = self.grade_all([(name, files)], progress)
        return report

    def grade_all(
        self,
        submissions: Iterable[tuple[str, Files | InputError]],
        progress: Callable[[str], None] | None = None,
        done: Callable[[Report], None] | None = None,
    ) -> list[Report]:
        """The reports of many submissions, in one run of pytest.

        Args:
            submissions: names and files, or why a submission cannot be read; taken one by one.
            progress: called with the id of each check before it runs.
            done: called with each report as soon as it is there.
        """
        from grader.grading.plugin import GradingPlugin, Run
        from grader.student import Session

        reports: list[Report] = []
        started: dict[int, tuple[str, float]] = {}

        def finish(report: Report) -> None:
            reports.append(report)
            if done is not None:
                done(report)

        def sessions() -> Iterator[Session]:
            for name, files in submissions:
                begun = time.monotonic()
                try:
                    if isinstance(files, InputError):
                        raise files
                    session = Session(read(files, name), self.assignment, self.launcher)
                except RecursionError:
                    deep = InputError(f"{name} is nested too deeply to be read.")
                    finish(refusal(self.assignment, name, "", deep, time.monotonic() - begun))
                    continue
                except InputError as error:
                    known = "" if isinstance(files, InputError) else digest(files)
                    finish(refusal(self.assignment, name, known, error, time.monotonic() - begun))
                    continue
                started[id(session)] = (name, begun)
                yield session

        def scored(run: Run) -> None:
            _, begun = started.pop(id(run.session))
            self.peak_bytes = max(self.peak_bytes, run.session.peak_bytes)
            seconds = time.monotonic() - begun
            finish(report_of(run, self.assignment, self.launcher.isolation, seconds))

        plugin = GradingPlugin(
            self.assignment, self.secret, sessions(), scored, progress or (lambda _: None)
        )
        run_pytest(self.assignment, plugin)
        return reports


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
