"""Grades one submission in this very process: what the benchmark of a class compares with.

    python benchmarks/in_process.py ASSIGNMENT SUBMISSION

The same checks run by the same plugin, as a grader does it that starts pytest for each submission
and imports the submission into it: no sandbox, no worker, no process that reads, no time limits.
Requests and answers are still encoded as for a worker, but cross no socket. Use it only on
submissions that are trusted.
"""

import sys
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from grader.assignment import load_assignment
from grader.grading import Grader
from grader.intake.files import collect
from grader.intake.reader import read
from grader.sandbox import Limits
from grader.worker import protocol
from grader.worker.client import End, Launcher, Worker
from grader.worker.runtime import Runtime
from grader.worker.zygote import run_eagerly, warm_up_training, without_processes


class _Here:
    """In place of a worker's socket: what is sent is carried out at once."""

    def __init__(self) -> None:
        self._runtime = Runtime(self)  # type: ignore[arg-type]
        self._answer = b""

    def send(self, frame: bytes, _deadline: float | None = None) -> None:
        self._answer = self._runtime._answer(*parts(frame))

    def receive(self, _deadline: float | None = None) -> tuple[bytes, bytes]:
        return parts(self._answer)

    def close(self) -> None:
        pass


class _Output:
    """In place of a worker's output."""

    class flooded:  # noqa: N801 (it takes the place of an event)
        @staticmethod
        def is_set() -> bool:
            return False

    def join(self) -> None:
        pass


class InProcess(Launcher):
    """Has this process itself be the worker."""

    def start(self, limits: Limits, trains: bool = False) -> Worker:  # noqa: ARG002
        """A worker that is this process."""
        if trains:
            warm_up_training()
        worker: Any = Worker.__new__(Worker)
        worker._channel, worker._number = _Here(), 0
        worker._end = lambda _: End()
        worker.output, worker.isolation, worker.held = _Output(), "none", {}
        worker.devices, worker.uses, worker.ended = [], [], None
        return worker  # type: ignore[no-any-return]


def parts(frame: bytes) -> tuple[bytes, bytes]:
    """A frame's header and body."""
    _, head, _ = protocol.PREFIX.unpack(frame[: protocol.PREFIX.size])
    body = protocol.PREFIX.size + head
    return frame[protocol.PREFIX.size : body], frame[body:]


def main(assignment: str, path: Path) -> None:
    """Grade it, and print what it earned, last."""
    files = collect(path).files
    run_eagerly()
    without_processes()
    with InProcess() as launcher:
        grader = Grader(load_assignment(assignment), launcher)
        report = grader.grade(read(files, path.name), path.name)
    print(f"\nscore {report.score}")  # on a line of its own: the submission may print


if __name__ == "__main__":
    main(sys.argv[1], Path(sys.argv[2]))
