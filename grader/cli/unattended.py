"""One submission where nobody watches: in a workflow, or in a site's autograder."""

import os
import signal
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from grader.errors import GraderError, InputError
from grader.sandbox import Isolation

LEAST_SECONDS = 1.0


def grade_unattended(
    path: Path,
    assignment: Any,
    secret: str,
    level: Isolation | None = None,
    least: str | None = None,
    seconds: float | None = None,
    progress: Callable[[str], None] | None = None,
) -> Any:
    """The report of a submission, whatever it is: also of one that is missing or cannot be read.

    Where several modules could be meant, all are read, as in a class. Others' code is not run
    without a sandbox, unless that was asked for.

    Args:
        path: a file or a folder.
        assignment: what it is graded for.
        secret: what inputs are drawn from besides public names.
        level: how it is shut in; None for as well as can be.
        least: the least isolation that will do, a level or "user"; None for a sandbox, unless
            `level` is "none".
        seconds: of wall clock that all of it may take, if that is less than the rubric's limit.
        progress: called with the id of each check before it runs.

    Raises:
        InputError: there are too few seconds.
    """
    from grader.grading.scoring import failure, refusal
    from grader.intake import Reading
    from grader.worker.client import make_launcher

    chosen = limited(assignment, seconds)
    name = os.path.basename(os.path.abspath(path))
    try:
        _expect_no_link(path)
        if not path.exists():
            raise InputError(f"There is no file or folder {path}: nothing was handed in there.")
        with _endable(), Reading() as reading, make_launcher(level) as launcher:
            read = reading.begin(path, name, neighbours=True)
            import grader.grading.plugin  # noqa: F401 (imports torch, as the zygote does now)
            from grader.grading import Grader

            submission = read()
            launcher.require_isolation(least or ("none" if level == "none" else "limits"))
            return Grader(chosen, launcher, secret).grade(submission, name, progress)
    except (InputError, RecursionError) as error:
        told = (
            error if isinstance(error, InputError) else InputError(f"{name} is nested too deeply.")
        )
        return refusal(chosen, name, "", told)
    except Ended:
        return failure(chosen, name, "", "it was ended from outside")
    except (GraderError, OSError, MemoryError) as error:
        return failure(chosen, name, "", str(error) or type(error).__name__)


def _expect_no_link(path: Path) -> None:
    """Raise InputError where the path leads through a link below this folder: a student made it."""
    here = Path.cwd()
    whole = here / path
    for part in (whole, *whole.parents):
        if part == here:
            return
        if part.is_symlink() and (part == whole or here in part.parents):
            raise InputError(f"{path} is a link or leads through one, and links are not followed.")


def limited(assignment: Any, seconds: float | None) -> Any:
    """The assignment with no more time for a submission than so many seconds."""
    if seconds is None:
        return assignment
    if not seconds >= LEAST_SECONDS:
        raise InputError(f"--timeout {seconds:g} is too short: give a second or more.")
    limits = assignment.limits
    less = {
        name: min(getattr(limits, name), seconds)
        for name in ("load_seconds", "call_seconds", "check_seconds", "submission_seconds")
    }
    return assignment.model_copy(update={"limits": limits.model_copy(update=less)})


class Ended(Exception):
    """Somebody asked this process to end."""


@contextmanager
def _endable() -> Iterator[None]:
    """Have a request to end still leave a report."""

    def end(*_: Any) -> None:
        raise Ended

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
