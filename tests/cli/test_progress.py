"""What a person sees while a class is graded."""

import io

import pytest
from rich.console import Console

from grader.batch.gradebook import ClassRow
from grader.batch.store import Handed
from grader.cli.progress import ClassProgress, duration
from grader.report.summary import Summary

SUMMARY = Summary(
    status="graded", score=1, max_score=2, milestones={"one": 1}, losses={}, misconceptions=(),
    review=0, remark="", code_is_right=False, isolation="none", seconds=0.5,
)  # fmt: skip


def row(name, is_new=True, status="graded"):
    return ClassRow(Handed(name, name), SUMMARY.model_copy(update={"status": status}), is_new)


def shown(is_terminal, steps):
    text = io.StringIO()
    console = Console(file=text, width=120, force_terminal=is_terminal, color_system=None)
    with ClassProgress(console, total=4) as progress:
        steps(progress)
        description = progress._told()
    return text.getvalue(), description


def steps(progress):
    progress.begun("a.py")
    progress.begun("b.py")
    progress.finished(row("kept.py", is_new=False))
    progress.finished(row("a.py"))
    progress.finished(row("x.py", status="refused"))
    progress.told("Something to know.")


def test_lines_are_plain_where_there_is_no_terminal():
    text, _ = shown(False, steps)
    assert text.splitlines() == [
        "[2/4] a.py: graded 1/2 in 0.5 s",
        "[3/4] x.py: refused 1/2 in 0.5 s",
        "Something to know.",
    ]


def test_a_terminal_shows_what_is_done_failed_and_running_rate_and_time_left():
    text, description = shown(True, steps)
    parts = description.split(" · ")
    assert parts[:3] == ["3/4", "1 unchanged", "1 not graded"]
    assert parts[3].endswith(" left")
    assert " a minute, " in parts[3]
    assert parts[4] == "b.py"
    assert "[2/4] a.py: graded 1/2 in 0.5 s" in text


def test_names_cannot_steer_the_terminal():
    def hostile(progress):
        progress.begun("\x1b[2J[bold]evil")
        progress.finished(row("\x1b[2J::error::x\r"))

    text, description = shown(False, hostile)
    assert "\x1b" not in text + description
    assert "\r" not in text


def test_a_stream_that_cannot_be_written_stops_nothing():
    class Full(io.StringIO):
        def write(self, text):
            raise OSError(28, "No space left on device")

    with ClassProgress(Console(file=Full(), width=120), total=1) as progress:
        progress.finished(row("a.py"))
        progress.told("Something to know.")
    assert progress.done == 1


def test_many_that_run_are_counted():
    def many(progress):
        for number in range(9):
            progress.begun(f"s{number}")

    assert shown(True, many)[1].endswith("s0, s1 and 7 more")


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.4, "0 s"), (59, "59 s"), (100, "2 min"), (3599, "1 h 0 min"),
                          (7800, "2 h 10 min")],
)  # fmt: skip
def test_durations_are_as_a_person_says_them(seconds, text):
    assert duration(seconds) == text
