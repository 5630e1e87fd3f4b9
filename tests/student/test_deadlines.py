"""What counts as a check's time, and as a submission's."""

import time

import pytest

from grader.errors import StudentTimedOut
from grader.intake import Submission
from grader.intake.submission import Chunk, Source
from grader.student import Session, Student

SLEEPS = "import time\n\ndef split_heads(x, n_heads):\n    time.sleep({})\n    return 3\n"


class Slow:
    """A launcher that takes its time, as one whose zygote is still importing does."""

    def __init__(self, launcher, seconds):
        self._launcher = launcher
        self._seconds = seconds

    def start(self, *arguments):
        time.sleep(self._seconds)
        return self._launcher.start(*arguments)


def session_of(text, assignment, launcher):
    source = Source("m.py", (Chunk(1, text),))
    return Session(Submission("s", "sha256:0", {"m.py": source}, {}, ()), assignment, launcher)


def limited(assignment, **seconds):
    return assignment.model_copy(update={"limits": assignment.limits.model_copy(update=seconds)})


def test_starting_a_worker_takes_nothing_from_the_checks_time_nor_the_submissions(
    assignment, launcher
):
    short = limited(assignment, check_seconds=1.5, submission_seconds=1.5)
    session = session_of(SLEEPS.format(0), short, Slow(launcher, 2.5))
    try:
        session.begin_check(None)
        assert Student(session).split_heads(1, 2) == 3
    finally:
        session.end()


def test_loading_takes_nothing_from_the_checks_time(assignment, launcher):
    short = limited(assignment, check_seconds=1.5)
    text = "import time\nN = time.sleep(2.5)\n" + SLEEPS.format("0 if N else 0")
    session = session_of(text, short, launcher)
    try:
        session.begin_check(None)
        assert Student(session).split_heads(1, 2) == 3
    finally:
        session.end()


def test_loading_takes_from_the_submissions_time(assignment, launcher):
    short = limited(assignment, submission_seconds=1.5)
    text = "import time\nN = time.sleep(2.5)\n" + SLEEPS.format("0 if N else 0")
    session = session_of(text, short, launcher)
    try:
        session.begin_check(None)
        with pytest.raises(StudentTimedOut, match=r"used up its 1\.5 s"):
            Student(session).split_heads(1, 2)
    finally:
        session.end()


def test_calls_take_from_the_checks_time(assignment, launcher):
    session = session_of(SLEEPS.format(1), limited(assignment, check_seconds=1.5), launcher)
    try:
        session.begin_check(None)
        assert Student(session).split_heads(1, 2) == 3
        with pytest.raises(StudentTimedOut):
            Student(session).split_heads(1, 2)
        session.begin_check(None)
        assert Student(session).split_heads(1, 2) == 3
    finally:
        session.end()
