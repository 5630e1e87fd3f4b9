"""Lanes: submissions go to whichever is free, and one that breaks is replaced."""

import os
import signal
import threading
import time
from pathlib import Path

import pytest

from grader.batch import Task, find_submissions, grade_class, load_report, read_class
from grader.batch.folder import report_file
from grader.batch.lane import Lane, LaneBroken, Setup
from grader.batch.lanes import Lanes
from grader.errors import GraderError, InputError
from grader.report import read_report
from tests.batch.little import RIGHT, TESTS, WRONG, Heard, make_little, written

SLOW = "import time\n\ndef f(x):\n    time.sleep({})\n    return 2 * x\n"
# The checks are trusted, so a check that ends its process stands for whatever can break a lane.
BREAKING = f"""
import os
from pathlib import Path

{TESTS}

def test_breaks(student):
    \"\"\"It breaks its lane when it is asked to.\"\"\"
    path = Path({{path!r}})
    if student.f(3) == 6 and path.exists() and student.f(-7) == -15:
        with path.open("a") as file:
            file.write("x")
        if path.stat().st_size <= {{times}}:
            os.abort()
"""
BREAKS = "def f(x):\n    return -15 if x == -7 else 2 * x\n"


@pytest.fixture
def little(tmp_path):
    return make_little(tmp_path / "assignments" / "little")


def task(name, text):
    return Task(name, "sha256:0", {f"{name}.py": text.encode()})


@pytest.fixture(scope="module")
def lane(tmp_path_factory):
    """A lane that several tests use."""
    assignment = make_little(tmp_path_factory.mktemp("assignments") / "little")
    with Lane(Setup.here(assignment)) as lane:
        yield lane


def test_a_lane_grades_task_after_task(lane):
    right, wrong, broken = (
        read_report(lane.grade(task(name, text)))
        for name, text in (("a", RIGHT), ("b", WRONG), ("c", "def f(:\n"))
    )
    assert (right.submission, right.score, right.full_marks) == ("a", right.max_score, True)
    assert (wrong.submission, wrong.score) == ("b", 0)
    assert (broken.status, broken.digest) == ("refused", "sha256:0")


def test_what_a_submission_prints_comes_between_no_answers(lane):
    loud = "print('{\"report\": 1}')\n\ndef f(x):\n    print('{}')\n    return 2 * x\n"
    assert read_report(lane.grade(task("a", loud))).full_marks
    assert read_report(lane.grade(task("b", WRONG))).score == 0


def test_a_lane_that_is_gone_says_so(little):
    with Lane(Setup.here(little)) as lane:
        lane.wait_until_ready()
        os.kill(lane.pid, signal.SIGKILL)
        with pytest.raises(LaneBroken, match="ended with code -9"):
            lane.grade(task("a", RIGHT))


def test_a_lane_that_takes_too_long_is_stopped(tmp_path, monkeypatch):
    monkeypatch.setattr("grader.batch.lane.SPARE_SECONDS", 1.0)
    tests = TESTS + '\n\ndef test_hangs():\n    """It hangs."""\n    import time; time.sleep(60)\n'
    little = make_little(tmp_path / "l", tests, _with_check("hangs"))
    setup = Setup("little", "", None, 0.5, str(little.folder))
    with Lane(setup) as lane:
        lane.wait_until_ready()
        with pytest.raises(LaneBroken, match="stopped after"):
            lane.grade(task("a", RIGHT))


def test_an_assignment_that_travels_is_graded_all_the_same(little):
    setup = Setup.here(little).travelling(little)
    assert setup.folder == ""
    again = Setup.of_line(setup.to_line())
    assert again == setup
    with Lane(again) as lane:
        assert read_report(lane.grade(task("a", RIGHT))).full_marks


def test_lanes_that_can_grade_nothing_say_why(tmp_path):
    setup = Setup("little", "", None, 1.0, str(tmp_path / "missing"))
    with Lanes(setup, 2) as lanes, pytest.raises(GraderError, match="cannot be read"):
        list(lanes.run(iter([task("a", RIGHT)]), Heard()))


@pytest.mark.parametrize(("kind", "error"), [("input", InputError), ("", GraderError)])
def test_why_a_lane_cannot_grade_reaches_whoever_asked(little, monkeypatch, kind, error):
    answer = {"failed": "There is no sandbox here.", "kind": kind}
    monkeypatch.setattr(Lane, "_answer", lambda self, seconds: answer)
    with Lanes(Setup.here(little), 1) as lanes, pytest.raises(error, match="no sandbox") as told:
        list(lanes.run(iter([task("a", RIGHT)]), Heard()))
    assert type(told.value) is error


def test_slow_submissions_block_no_others(tmp_path, little):
    texts = {f"s{n:02}": RIGHT + f"# {n}\n" for n in range(8)}
    folder = written(tmp_path / "class", **texts, a_slow=SLOW.format(4))
    heard, out = Heard(), tmp_path / "out"
    with Lanes(Setup.here(little), 2) as lanes:
        count = grade_class(find_submissions([folder]), little, out, lanes, watcher=heard)
    assert (count.graded, count.errors) == (9, 0)
    assert heard.started[0] == "a_slow.py"
    order = [row.id for row in heard.rows]
    assert order.index("a_slow.py") >= 4, order
    assert all(row.summary.code_is_right for row in heard.rows)


def _with_check(name):
    from tests.batch.little import RUBRIC

    return RUBRIC + (
        f'[[milestones.checks]]\nid = "{name}"\npoints = 1\ncomponent = "f"\nhint = "h"\n'
        'lesson = "l"\n'
    )


@pytest.mark.parametrize(("times", "status", "tries"), [(1, "graded", 2), (9, "error", 2)])
def test_a_lane_that_breaks_is_replaced_and_its_submission_tried_once_more(
    tmp_path, times, status, tries
):
    flag = tmp_path / "flag"
    flag.touch()
    tests = BREAKING.format(path=str(flag), times=times)
    little = make_little(tmp_path / "l", tests, _with_check("breaks"))
    folder = written(tmp_path / "class", a=RIGHT, breaks=BREAKS, z=RIGHT)
    out = tmp_path / "out"
    with Lanes(Setup.here(little), 1) as lanes:
        count = grade_class(find_submissions([folder]), little, out, lanes)
    found = {row.id: row.summary.status for row in read_class(out)}
    assert found == {"a.py": "graded", "breaks.py": status, "z.py": "graded"}
    assert count.errors == (status == "error")
    assert flag.stat().st_size == tries
    if status == "error":
        report = load_report(report_file(out, "breaks.py"))
        assert "The grader itself failed" in report.findings[0].message


def test_lanes_that_are_killed_lose_nothing(tmp_path, little):
    texts = {f"s{n:02}": SLOW.format(0.2) + f"# {n}\n" for n in range(8)}
    folder, out = written(tmp_path / "class", **texts), tmp_path / "out"
    with Lanes(Setup.here(little), 2) as lanes:

        class Kills(Heard):
            def finished(self, row):
                super().finished(row)
                if len(self.rows) in (2, 5):
                    os.kill(lanes.pids[0], signal.SIGKILL)

        heard = Kills()
        count = grade_class(find_submissions([folder]), little, out, lanes, watcher=heard)
    assert (count.graded, count.errors) == (8, 0)
    assert all(row.summary.code_is_right for row in heard.rows)


def test_closing_ends_lanes_in_the_middle_of_a_submission(little):
    lanes = Lanes(Setup.here(little), 1)
    heard = Heard()
    results = lanes.run(iter([task("a", SLOW.format(30))]), heard)
    taken = threading.Thread(target=lambda: next(results, None), daemon=True)
    taken.start()
    deadline = time.monotonic() + 60
    while not (lanes.pids and heard.started) and time.monotonic() < deadline:
        time.sleep(0.05)
    (pid,) = lanes.pids
    begun = time.monotonic()
    lanes.close()
    assert time.monotonic() - begun < 5
    assert not Path(f"/proc/{pid}").exists()
    assert lanes.pids == []
