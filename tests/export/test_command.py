"""`grader export` as a person calls it: what it prints, where it writes, and what it says of mistakes."""

import json
import os
import subprocess
import threading

import pytest

from grader.batch.folder import write_atomically
from grader.errors import InputError
from tests.export.classes import CANVAS, make_class
from tests.export.reports import make, partly, row, to_json
from tests.export.runner import make_grader


@pytest.fixture(scope="module")
def grader(tmp_path_factory):
    return make_grader(tmp_path_factory.mktemp("bin")) / "grader"


@pytest.fixture
def report(tmp_path):
    path = tmp_path / "report.json"
    path.write_text(to_json(partly()))
    return path


def export(grader, *arguments, **environment):
    return subprocess.run(
        [grader, "export", *map(str, arguments)], capture_output=True, timeout=60,
        env={**os.environ, **environment},
    )  # fmt: skip


def test_it_prints_in_utf_8_whatever_the_locale(grader, report):
    done = export(grader, "markdown", report, LC_ALL="C", PYTHONUTF8="0", PYTHONIOENCODING="ascii")
    assert done.returncode == 0
    assert "✓✓" in done.stdout.decode("utf-8")


def test_a_gradebook_goes_to_a_file_and_what_is_told_to_the_error_output(grader, tmp_path):
    out = make_class(tmp_path)
    roster = tmp_path / "canvas.csv"
    roster.write_text(CANVAS, encoding="utf-8-sig")
    target = tmp_path / "grades.csv"
    done = export(grader, "canvas", out, "--roster", roster, "--out", target)
    assert (done.returncode, done.stdout) == (0, b"")
    assert target.read_bytes().startswith(
        b"Student,ID,SIS User ID,SIS Login ID,Section,Little (77)\r\n"
    )
    assert b"In the class list without a submission: s1004\n" in done.stderr


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["nothing", "REPORT"], "choose one of classroom, "),
        (["classroom", "missing.json"], "cannot be read"),
        (["classroom", "x" * 300], "cannot be read"),
        (["classroom", "REPORT", "--max-score", "0"], "from 0.01"),
        (["classroom", "REPORT", "--max-score", "1e400"], "from 0.01"),
        (["classroom", "REPORT", "--max-score", "nan"], "no number"),
        (["gradescope", "REPORT", "--base", "x"], "has no --base"),
        (["canvas", "REPORT"], "--roster"),
        (["canvas", "REPORT", "--roster", "missing.csv"], "cannot be read"),
        (["junit", "REPORT", "--out", "/proc/x/y"], "cannot be written"),
        (["classroom50", "REPORT"], "COMMIT_URL"),
    ],
)  # fmt: skip
def test_mistakes_are_one_sentence(grader, report, arguments, word):
    done = export(grader, *(report if each == "REPORT" else each for each in arguments))
    assert done.returncode == 2
    text = done.stderr.decode()
    assert word in text
    assert "itself failed" not in text
    assert text.count("\n") == 1


@pytest.mark.parametrize(
    "change",
    [{"seconds": float("nan")}, {"seconds": -1}, {"score": 99}, {"milestones": None}, {"more": 1}],
)
def test_what_is_no_report_is_told(grader, tmp_path, change):
    path = tmp_path / "report.json"
    path.write_text(json.dumps({**json.loads(to_json(partly())), **change}))
    done = export(grader, "gradescope", path)
    assert done.returncode == 2
    assert b"is no report of the grader" in done.stderr


def test_more_points_than_there_are_is_no_report():
    with pytest.raises(ValueError, match="larger than"):
        row("c", "passed", "0.5", score="0.6")
    assert make({"m": [row("c", "passed", "0.5", score="0.5")]}).full_marks


def test_what_is_no_file_is_written_to_and_stays(tmp_path):
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    read = []
    reader = threading.Thread(target=lambda: read.append(pipe.read_bytes()))
    reader.start()
    write_atomically(pipe, "text")
    reader.join(10)
    assert read == [b"text"]
    assert pipe.is_fifo()
    with pytest.raises(InputError):
        write_atomically(tmp_path, "text")


def test_a_link_in_the_place_of_the_half_written_file_is_not_followed(tmp_path):
    kept = tmp_path / "kept"
    kept.write_text("kept")
    (tmp_path / ".a.txt.tmp").symlink_to(kept)
    write_atomically(tmp_path / "a.txt", b"new")
    assert (kept.read_text(), (tmp_path / "a.txt").read_text()) == ("kept", "new")
    assert not (tmp_path / "a.txt").is_symlink()
