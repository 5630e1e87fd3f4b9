"""What grades the submissions of a class: one after the other here, in lanes, or on a cluster."""

import abc
from collections.abc import Iterator
from dataclasses import dataclass, field

from grader.batch.watcher import Watcher
from grader.errors import InputError
from grader.intake import Note, Reading, Submission
from grader.report import Report, read_report


@dataclass(frozen=True)
class Task:
    """A submission to be graded: nothing but bytes, so that it can travel.

    Attributes:
        id: of the submission.
        digest: over its files.
        files: contents by relative path.
        notes: what gathering them left out.
    """

    id: str
    digest: str
    files: dict[str, bytes] = field(repr=False)
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True)
class Result:
    """What came of a task.

    Attributes:
        report: its JSON; None where the grader failed.
        fault: why there is none.
        tries: how often it was tried.
    """

    task: Task
    report: str | None
    fault: str = ""
    tries: int = 1

    def read(self) -> Report | None:
        """The report; None where there is none, or what came is none."""
        try:
            return None if self.report is None else read_report(self.report)
        except ValueError:
            return None


class Executor(abc.ABC):
    """Grades tasks for one assignment. Use it in a `with` statement, or `close` it.

    Attributes:
        width: how many it grades at a time.
    """

    width: int = 1

    @abc.abstractmethod
    def run(self, tasks: Iterator[Task], watcher: Watcher) -> Iterator[Result]:
        """Grade tasks; each result comes as soon as it is there, in any order.

        Tasks are taken one by one, hardly more than are graded at a time.

        Args:
            tasks: what is graded.
            watcher: hears which begin.

        Raises:
            InputError: nothing can be graded at all, as where there is no sandbox.
        """

    def close(self) -> None:  # noqa: B027 (one that starts nothing has nothing to end)
        """End what was started."""

    def __enter__(self) -> "Executor":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def with_digest(report: Report, digest: str) -> Report:
    """The report with its submission's digest, also where that could not be read."""
    return report.model_copy(update={"digest": report.digest or digest})


def read_task(task: Task, reading: Reading) -> Submission | InputError:
    """A task's submission, or why it cannot be read as one."""
    try:
        return reading.read(task.files, task.id, notes=task.notes)
    except InputError as error:
        return error
