"""Grades a class in this process, one submission after the other."""

from collections.abc import Iterator

from grader.assignment import Assignment
from grader.batch.executor import Executor, Result, Task, with_digest
from grader.batch.watcher import Watcher
from grader.errors import InputError
from grader.grading import Grader
from grader.intake import Reading, Submission
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
                submission: Submission | InputError
                try:
                    submission = reading.read(task.files, task.id, notes=task.notes)
                except InputError as error:
                    submission = error
                (report,) = self._grader.grade_all([(task.id, submission)])
                yield Result(task, with_digest(report, task.digest).to_json())
