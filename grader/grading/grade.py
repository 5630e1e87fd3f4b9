"""From a submission to its report: runs the checks, then scores them."""

import os
import time
from collections.abc import Callable, Iterator, Mapping
from decimal import Decimal
from importlib import metadata
from pathlib import Path
from typing import Any, Literal

from grader.assignment import Assignment, Check, Milestone
from grader.errors import AssignmentError, InputError
from grader.grading.titles import titles
from grader.intake import Location, Note, Source, Submission, read
from grader.intake.reader import digest
from grader.report import CheckRow, Environment, Finding, MilestoneRow, Place, Report
from grader.worker.client import Launcher, make_launcher

Files = Mapping[str, bytes]
UNUSED_PLUGINS = [
    "cacheprovider", "capture", "terminal", "logging", "junitxml", "pastebin", "doctest", "unittest",
    "stepwise", "setuponly", "setupplan", "warnings", "debugging", "faulthandler",
    "threadexception", "unraisableexception", "recwarn", "monkeypatch", "legacypath", "tmpdir",
    "skipping", "subtests",
]  # fmt: skip


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

    def grade(self, files: Files, name: str, progress: Callable[[str], None] | None = None) -> Report:
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
        submissions: "Iterator[tuple[str, Files | InputError]] | list[tuple[str, Files]]",
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
                except InputError as error:
                    known = "" if isinstance(files, InputError) else digest(files)
                    finish(refusal(self.assignment, name, known, error, time.monotonic() - begun))
                    continue
                started[id(session)] = (name, begun)
                yield session

        def scored(run: Run) -> None:
            _, begun = started.pop(id(run.session))
            self.peak_bytes = max(self.peak_bytes, run.session.peak_bytes)
            finish(self._report(run, time.monotonic() - begun))

        plugin = GradingPlugin(
            self.assignment, self.secret, sessions(), scored, progress or (lambda _: None)
        )
        run_pytest(self.assignment, plugin)
        return reports

    def _report(self, run: Any, seconds: float) -> Report:
        session = run.session
        submission: Submission = session.submission
        names = titles(self.assignment)
        milestones = []
        faults = []
        for milestone in self.assignment.milestones:
            rows = []
            for check in milestone.checks:
                outcome = run.outcomes[check.id]
                if outcome.status == "fault":
                    faults.append(f"{check.id}: {outcome.message}")
                rows.append(_row(check, names[check.id], outcome, session))
            milestones.append(milestone_row(milestone, rows))
        findings = [
            Finding(
                kind="disallowed",
                message=f"`{use.name}` is not allowed in this assignment; "
                f"`{use.definition}` uses it.",
                location=_place(use.location),
            )
            for use in session.uses
        ]
        findings += _notes(submission, session)
        findings += [
            Finding(kind="review", message=f"The grader itself failed in {fault}") for fault in faults
        ]
        return make_report(
            self.assignment,
            submission.name,
            submission.digest,
            "error" if faults else "graded",
            milestones,
            findings,
            self.launcher.isolation,
            seconds,
        )


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


def run_pytest(assignment: Assignment, plugin: Any) -> None:
    """Run pytest in this process on an assignment's tests, shielded from configuration around it.

    Raises:
        AssignmentError: the tests cannot be collected, or do not fit the rubric.
    """
    import pytest

    ini = Path(__file__).with_name("pytest.ini")
    arguments = [
        str(assignment.folder), "-c", str(ini), "--rootdir", str(assignment.folder),
        "--noconftest", "--import-mode=importlib", "--assert=plain", "--disable-plugin-autoload",
        *(f"-pno:{name}" for name in UNUSED_PLUGINS),
    ]  # fmt: skip
    hidden = {n: os.environ.pop(n) for n in ("PYTEST_ADDOPTS", "PYTEST_PLUGINS") if n in os.environ}
    errors = _CollectionErrors()
    try:
        code = pytest.main(arguments, plugins=[plugin, errors])
    finally:
        os.environ.update(hidden)
    if errors.messages or code not in (pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED):
        what = "; ".join(errors.messages) or f"pytest ended with {code!r}"
        raise AssignmentError(f"The checks of {assignment.id} could not be run: {what}")


class _CollectionErrors:
    """Keeps why tests could not be collected or run, which pytest would only print."""

    def __init__(self) -> None:
        self.messages: list[str] = []

    def pytest_collectreport(self, report: Any) -> None:
        """Note a module that cannot be imported."""
        if report.failed:
            self.messages.append(str(report.longrepr).strip().splitlines()[-1])

    def pytest_internalerror(self, excinfo: Any) -> bool:
        """Note an error in a hook, such as a rubric that does not fit its tests."""
        self.messages.append(f"{excinfo.value}")
        return True

    def pytest_keyboard_interrupt(self, excinfo: Any) -> None:
        """Let Ctrl-C through."""
        raise KeyboardInterrupt from excinfo.value


def _row(check: Check, title: str, outcome: Any, session: Any) -> CheckRow:
    passed = outcome.status == "passed"
    place = None
    if not passed:
        if outcome.frames:
            place = _place(session.locate(outcome.frames[-1]))
        else:
            place = _place(definition_place(session.modules, check.component))
    status = "review" if outcome.status == "fault" else outcome.status
    return CheckRow(
        id=check.id,
        title=title,
        status=status,
        score=check.points if passed else Decimal(0),
        max_score=check.points,
        hidden=check.hidden,
        message=None if passed else outcome.message,
        expected=outcome.expected,
        got=outcome.got,
        misconception=outcome.misconception,
        hint=None if passed or status == "blocked" else outcome.hint or check.hint,
        lesson=None if passed or status == "blocked" else check.lesson,
        location=place,
    )


def definition_place(modules: list[Source], name: str) -> Location | None:
    """Where a definition stands: a function's line, or a class's forward."""
    import ast

    from grader.intake.definitions import definitions

    for module in modules:
        statement = definitions(module).get(name)
        if statement is None:
            continue
        for method in getattr(statement, "body", []) if isinstance(statement, ast.ClassDef) else []:
            if isinstance(method, ast.FunctionDef) and method.name in ("forward", "__call__"):
                statement = method
        return module.locate(statement.lineno)
    return None


def _place(location: Location | None) -> Place | None:
    return None if location is None else Place(**vars(location))


def _notes(submission: Submission, session: Any) -> list[Finding]:
    notes: list[Note] = [*submission.notes, *submission.broken.values(), *session.notes]
    findings = [
        Finding(kind=note.kind, message=note.message, location=_place(note.location))  # type: ignore[arg-type]
        for note in notes
    ]
    graded = [module.path for module in session.modules]
    if graded and len(submission.sources) > 1:
        findings.append(Finding(kind="note", message=f"Graded: {', '.join(graded)}."))
    return findings


def milestone_row(milestone: Milestone, rows: list[CheckRow]) -> MilestoneRow:
    """A milestone with its rows, and their sum."""
    return MilestoneRow(
        id=milestone.id,
        title=milestone.title,
        score=sum((row.score for row in rows), Decimal(0)),
        max_score=milestone.points,
        checks=tuple(rows),
    )


def refusal(
    assignment: Assignment, name: str, digest_: str, error: InputError, seconds: float = 0.0
) -> Report:
    """The report of what cannot be read as a submission: every row refused, and the reason."""
    place = Place(file=error.file, line=error.line, cell=error.cell) if error.file else None
    names = titles(assignment)
    rows = [
        milestone_row(
            milestone,
            [
                CheckRow(
                    id=check.id,
                    title=names[check.id],
                    status="refused",
                    score=Decimal(0),
                    max_score=check.points,
                    hidden=check.hidden,
                    message="The submission could not be read.",
                )
                for check in milestone.checks
            ],
        )
        for milestone in assignment.milestones
    ]
    finding = Finding(kind="note", message=str(error), location=place)
    return make_report(assignment, name, digest_, "refused", rows, [finding], "none", seconds)


def make_report(
    assignment: Assignment,
    name: str,
    digest_: str,
    status: Literal["graded", "refused", "error"],
    milestones: list[MilestoneRow],
    findings: list[Finding],
    isolation: str,
    seconds: float,
) -> Report:
    """A report, with its sum."""
    return Report(
        submission=name,
        digest=digest_,
        assignment=assignment.id,
        status=status,
        score=sum((milestone.score for milestone in milestones), Decimal(0)),
        max_score=assignment.points,
        milestones=tuple(milestones),
        findings=tuple(findings),
        environment=Environment(
            grader=_version("transformer-grader"), torch=_version("torch"), isolation=isolation
        ),
        seconds=round(seconds, 3),
    )


def _version(package: str) -> str:
    try:
        return metadata.version(package)
    except metadata.PackageNotFoundError:
        return "unknown"
