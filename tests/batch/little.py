"""A little assignment, and an executor that grades it by a word in the source, at once."""

import re
from decimal import Decimal
from pathlib import Path

from grader.assignment import load_assignment
from grader.batch import Executor, Result, Watcher
from grader.grading.scoring import make_report
from grader.report.model import CheckRow, MilestoneRow

RUBRIC = """
schema = "transformer-grader/rubric/1"
id = "little"
title = "A little assignment"
lesson = "Lesson 1"
module = "m"
[limits]
submission_seconds = 20
call_seconds = 10
[[components]]
name = "f"
arguments = ["x"]
[[milestones]]
id = "one"
title = "One"
[[milestones.checks]]
id = "doubles"
points = 1
component = "f"
hint = "h"
lesson = "Lesson 1, doubling"
[[milestones.checks]]
id = "doubles_zero"
points = 0.5
component = "f"
needs = ["doubles"]
hint = "h"
lesson = "Lesson 1, nothing"
"""
TESTS = '''
def test_doubles(student):
    """It doubles."""
    assert student.f(2) == 4, "It does not double."


def test_doubles_zero(student):
    """Twice nothing is nothing."""
    assert student.f(0) == 0, "Twice nothing is not nothing."
'''
RIGHT = "def f(x):\n    return 2 * x\n"
WRONG = "def f(x):\n    return 3 * x\n"


def make_little(folder: Path, tests: str = TESTS, rubric: str = RUBRIC):
    """The assignment, made in a folder."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "rubric.toml").write_text(rubric)
    (folder / "test_f.py").write_text(tests)
    return load_assignment(folder)


def written(folder: Path, **texts: str) -> Path:
    """A class: a module for each name, with its text."""
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in texts.items():
        (folder / f"{name}.py").write_text(text)
    return folder


def canned_report(assignment, task):
    """A report by the first line: `# points: 1.5`, `# misconception: scale-missing`, …"""
    text = "\n".join(data.decode() for data in task.files.values())
    told = dict(re.findall(r"^# (\w+): (\S+)$", text, re.MULTILINE))
    left = Decimal(told.get("points", "0"))
    milestones = []
    for milestone in assignment.milestones:
        rows = []
        for check in milestone.checks:
            score = min(left, check.points)
            left -= score
            is_full = score == check.points
            rows.append(
                CheckRow(
                    id=check.id,
                    title=f"Title of {check.id}.",
                    status="passed" if is_full else told.get("status", "failed"),
                    score=score,
                    max_score=check.points,
                    message=None if is_full else "It is wrong.",
                    misconception=None if is_full else told.get("misconception"),
                    lesson=None if is_full else check.lesson,
                )
            )
        milestones.append(MilestoneRow.of(milestone.id, milestone.title, milestone.points, rows))
    seconds = float(told.get("seconds", "0.25"))
    return make_report(
        assignment, task.id, task.digest, "graded", milestones, [], "namespaces", seconds
    )


class Canned(Executor):
    """Grades at once; `seen` holds the ids of all that it graded."""

    def __init__(self, assignment) -> None:
        self.assignment = assignment
        self.seen: list[str] = []

    def run(self, tasks, watcher):
        for task in tasks:
            watcher.begun(task.id)
            self.seen.append(task.id)
            yield self.result(task)

    def result(self, task):
        return Result(task, canned_report(self.assignment, task).to_json())


class Heard(Watcher):
    """Keeps what it hears."""

    def __init__(self) -> None:
        self.started: list[str] = []
        self.rows = []
        self.sentences: list[str] = []

    def begun(self, submission):
        self.started.append(submission)

    def finished(self, row):
        self.rows.append(row)

    def told(self, sentence):
        self.sentences.append(sentence)
