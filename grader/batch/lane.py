"""A lane: one trusted process with its pytest and its zygote, which grades task after task.

    python -P -c "from grader.batch.lane import serve; serve()"

It reads lines of JSON from its standard input, first how to grade, then a task each, and writes a
line for each to its standard output. `Lane` is the other end.
"""

import dataclasses
import json
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from grader.assignment import Assignment, load_assignment
from grader.batch.executor import Task, read_task, with_digest
from grader.batch.fingerprint import assignment_files
from grader.errors import AssignmentError, GraderError, InputError
from grader.intake import Reading, Submission
from grader.intake.files import Gathered
from grader.intake.reading import packed, packed_files, unpacked, unpacked_files
from grader.report import Report
from grader.sandbox import Isolation

START_SECONDS = 300.0  # importing torch twice, on a cold disk of a machine that is busy
SPARE_SECONDS = 120.0  # beyond the submission's own limit, for what the lane itself does
MAX_ANSWER = 64 * 2**20  # bytes
TOLD = 600  # characters of a lane's own words that a report shows


class LaneBroken(GraderError):
    """A lane ended, answered nonsense, or took too long: the grader's fault."""


@dataclasses.dataclass(frozen=True)
class Setup:
    """How to grade: all that a lane needs besides tasks.

    Attributes:
        assignment: its id.
        secret: what inputs are drawn from.
        isolation: how workers are shut in; None for the best that is to be had.
        limit_seconds: what a submission may take.
        folder: where the assignment lies; "" where it travels.
        files: the assignment's files and those of others that it takes checks from, by path from
            the folder of all assignments, where it travels.
    """

    assignment: str
    secret: str = dataclasses.field(repr=False)
    isolation: Isolation | None
    limit_seconds: float
    folder: str = ""
    files: Mapping[str, bytes] = dataclasses.field(default_factory=dict, repr=False)

    @classmethod
    def here(
        cls, assignment: Assignment, secret: str = "", isolation: Isolation | None = None
    ) -> "Setup":
        """To grade on this machine."""
        folder = str(assignment.folder.resolve())
        seconds = assignment.limits.submission_seconds
        return cls(assignment.id, secret, isolation, seconds, folder)

    def travelling(self, assignment: Assignment) -> "Setup":
        """The same, to grade on another machine, which has none of this one's folders."""
        return dataclasses.replace(self, folder="", files=assignment_files(assignment))

    def to_line(self) -> bytes:
        """A line of JSON."""
        values = {**dataclasses.asdict(self), "files": packed_files(self.files)}
        return json.dumps(values).encode() + b"\n"

    @classmethod
    def of_line(cls, line: bytes) -> "Setup":
        """What `to_line` wrote."""
        values = json.loads(line)
        return cls(**{**values, "files": unpacked_files(values["files"])})


class Lane:
    """The other end of a lane: starts it, and has it grade. Use it in `with`, or `close` it.

    Args:
        setup: how it grades.
    """

    def __init__(self, setup: Setup) -> None:
        self._setup = setup
        self._folder = tempfile.TemporaryDirectory(
            prefix="grader-lane-", ignore_cleanup_errors=True
        )
        self._words = tempfile.TemporaryFile()  # noqa: SIM115 (closed with the lane)
        code = (
            "import sys; sys.path[:] = sys.argv[1:]; from grader.batch.lane import serve; serve()"
        )
        self._process = subprocess.Popen(
            [sys.executable, "-s", "-P", "-S", "-c", code, *map(os.path.abspath, sys.path)],
            cwd=self._folder.name,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._words,
            start_new_session=True,  # Ctrl-C is for whoever started it
        )
        self._is_ready = False
        self._send(setup.to_line())

    @property
    def pid(self) -> int:
        """Its process."""
        return self._process.pid

    def wait_until_ready(self) -> None:
        """Wait for it to have imported what it needs.

        Raises:
            InputError: it cannot grade here, as where there is no sandbox.
            LaneBroken: it did not start.
        """
        if self._is_ready:
            return
        answer = self._answer(START_SECONDS)
        if "failed" in answer:
            kinds = {"input": InputError, "assignment": AssignmentError}
            raise kinds.get(answer["kind"], GraderError)(answer["failed"])
        self._is_ready = True

    def grade(self, task: Task) -> str:
        """The JSON of a task's report.

        Raises:
            LaneBroken: there is none; the lane is of no more use.
        """
        self.wait_until_ready()
        self._send(_task_line(task))
        report = self._answer(self._setup.limit_seconds + SPARE_SECONDS).get("report")
        if not isinstance(report, str):
            raise LaneBroken("a lane answered without a report")
        return report

    def _send(self, line: bytes) -> None:
        assert self._process.stdin is not None
        try:
            self._process.stdin.write(line)
            self._process.stdin.flush()
        except OSError:
            pass  # it has ended, as waiting for its answer will show

    def _answer(self, seconds: float) -> dict[str, Any]:
        assert self._process.stdout is not None
        is_late = threading.Event()

        def stop() -> None:
            is_late.set()
            self._process.kill()

        timer = threading.Timer(seconds, stop)
        timer.start()
        try:
            line = self._process.stdout.readline(MAX_ANSWER)
            answer: dict[str, Any] = json.loads(line)
        except (OSError, ValueError):
            self._process.kill()
            code = self._process.wait()
            if is_late.is_set():
                raise LaneBroken(f"a lane was stopped after {seconds:g} s") from None
            raise LaneBroken(f"a lane ended with code {code}{self._last_words()}") from None
        finally:
            timer.cancel()
        return answer

    def _last_words(self) -> str:
        try:
            self._words.seek(0, os.SEEK_END)
            self._words.seek(max(0, self._words.tell() - TOLD))
            lines = self._words.read().decode("utf-8", "replace").strip().splitlines()
        except ValueError:
            return ""  # it was closed meanwhile
        return f": {lines[-1]}" if lines else ""

    def close(self) -> None:
        """End it, with its zygote and its worker, whatever they are at."""
        self._process.kill()  # the zygote sees its socket close, and ends with its workers
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout):
            if pipe is not None:
                try:
                    pipe.close()
                except OSError:
                    pass  # what was still to be written has nobody to read it
        self._words.close()
        self._folder.cleanup()

    def __enter__(self) -> "Lane":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _task_line(task: Task) -> bytes:
    given = packed(Gathered(task.files, task.notes))
    return json.dumps({"id": task.id, "digest": task.digest, **given}).encode() + b"\n"


def _task_of(line: bytes) -> Task:
    values = json.loads(line)
    given = unpacked(values)
    return Task(values["id"], values["digest"], given.files, given.notes)


# the process


def serve() -> None:
    """Grade what comes over standard input until it ends; the other end of `Lane`."""
    tasks = sys.stdin.buffer
    # The answers have a descriptor of their own, so that nothing printed comes between them.
    answers = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    own = Path.cwd()
    try:
        _serve(Setup.of_line(tasks.readline()), tasks, answers, own)
    except (InputError, AssignmentError, GraderError) as error:
        kinds = {InputError: "input", AssignmentError: "assignment"}
        kind = next((name for each, name in kinds.items() if isinstance(error, each)), "")
        _write(answers, {"failed": str(error), "kind": kind})
    answers.flush()
    shutil.rmtree(own, ignore_errors=True)  # whoever started this may be gone
    os._exit(0)  # tearing torch down takes 0.3 s, and there is nothing to save


def _serve(setup: Setup, tasks: BinaryIO, answers: BinaryIO, own: Path) -> None:
    from grader.worker.client import make_launcher

    with make_launcher(setup.isolation) as launcher:  # its zygote imports torch meanwhile
        tempfile.tempdir = str(own)
        assignment = load_assignment(_folder(setup, own))
        from grader.grading import Grader
        from grader.grading import plugin as _imports_torch  # noqa: F401

        if setup.isolation != "none":
            launcher.require_sandbox()
        _write(answers, {"ready": True})
        with Reading() as reading:
            submissions = _Submissions(tasks, reading)

            def done(report: Report) -> None:
                text = with_digest(report, submissions.digest).to_json()
                _write(answers, {"report": text})

            Grader(assignment, launcher, setup.secret).grade_each(submissions, done)


def _folder(setup: Setup, own: Path) -> Path:
    """The assignment's folder, made from what travelled where it is not on this machine."""
    if setup.folder:
        return Path(setup.folder)
    for name, data in setup.files.items():
        path = own.joinpath("assignments", *name.split("/"))
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
    return own / "assignments" / setup.assignment


class _Submissions:
    """The submissions as they come, each read, or with why it cannot be.

    Attributes:
        digest: of the one that came last.
    """

    def __init__(self, tasks: BinaryIO, reading: Reading) -> None:
        self.digest = ""
        self._tasks = tasks
        self._reading = reading

    def __iter__(self) -> Iterator[tuple[str, Submission | InputError]]:
        for line in self._tasks:
            task = _task_of(line)
            self.digest = task.digest
            yield task.id, read_task(task, self._reading)


def _write(answers: BinaryIO, answer: dict[str, Any]) -> None:
    answers.write(json.dumps(answer).encode() + b"\n")
    answers.flush()
