"""Grades a class in this process, one submission after the other."""

from collections.abc import Iterator

from grader.assignment import Assignment
from grader.batch.executor import Executor, Result, Task, read_task, with_digest
from grader.batch.watcher import Watcher
from grader.grading import Grader
from grader.intake import Reading
from grader.worker.client import Launcher


class Here(Executor):
    """Grades tasks in this process, with workers that a launcher starts.

    For programs that have a launcher already; the command line grades in lanes.

    Args:
        assignment: what is graded.
        launcher: starts workers; whoever made it closes it.
        secret: what inputs are drawn from besides public names.
    """

    def __init__(self, assignment: Assignment, launcher: Launcher, secret: str = "") -> None:
        self._grader = Grader(assignment, launcher, secret)

    def run(self, tasks: Iterator[Task], watcher: Watcher) -> Iterator[Result]:
        """Grade tasks one after the other; see `Executor.run`."""
        with Reading() as reading:
            for task in tasks:
                watcher.begun(task.id)
                (report,) = self._grader.grade_all([(task.id, read_task(task, reading))])
                yield Result(task, with_digest(report, task.digest).to_json())
