"""What several tests share: one launcher a test process, and a way to grade source text."""

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from grader.assignment import Assignment, load_assignment
from grader.grading import Grader
from grader.report import Report
from grader.worker.client import Launcher, make_launcher

ROOT = Path(__file__).resolve().parents[1]
RIGHT = (ROOT / "reference" / "attention.py").read_text(encoding="utf-8")


@pytest.fixture(scope="session")
def launcher() -> Iterator[Launcher]:
    with make_launcher() as launcher:
        yield launcher


@pytest.fixture(scope="session")
def assignment() -> Assignment:
    return load_assignment("multi_head_attention")


@pytest.fixture
def grade_text(launcher: Launcher, assignment: Assignment) -> Callable[..., Report]:
    """Grade a module given as text, or a folder given as texts by path."""

    def grade(text: str | dict[str, str], name: str = "submission.py") -> Report:
        files = {name: text} if isinstance(text, str) else text
        data = {path: content.encode() for path, content in files.items()}
        return Grader(assignment, launcher).grade(data, name)

    return grade


@pytest.fixture
def right() -> str:
    """The source of a right submission."""
    return RIGHT


def failing(report: Report) -> dict[str, str]:
    """The checks of the code that did not pass, with their status."""
    return {check.id: check.status for check in report.code() if check.status != "passed"}
