"""Where the checks run: a folder and an environment of their own, whatever is around them."""

import os

import pytest

from grader.assignment import load_assignment
from grader.grading import Grader

RUBRIC = """
schema = "transformer-grader/rubric/1"
id = "surroundings"
title = "Surroundings"
lesson = "A lesson"
module = "m"
[[components]]
name = "f"
arguments = ["x"]
[[milestones]]
id = "one"
title = "One"
[[milestones.checks]]
id = "nothing_of_the_caller_is_there"
points = 1
component = "f"
hint = "A hint."
lesson = "A lesson"
"""
CHECK = '''
import os
import pathlib

def test_nothing_of_the_caller_is_there(student):
    """Neither its folder nor its secrets."""
    found = [name for name in os.environ if "SECRET" in name or "TOKEN" in name]
    assert found == []
    assert os.listdir() == []
    assert pathlib.Path.cwd().name.startswith("grader-pytest-")
    assert student.f(2) == 4
'''


@pytest.fixture
def surroundings(tmp_path):
    folder = tmp_path / "surroundings"
    folder.mkdir()
    (folder / "rubric.toml").write_text(RUBRIC)
    (folder / "test_surroundings.py").write_text(CHECK)
    return load_assignment(folder)


def test_checks_see_nothing_of_the_callers(surroundings, launcher, tmp_path, monkeypatch):
    caller = tmp_path / "caller"
    caller.mkdir()
    (caller / "conftest.py").write_text("raise SystemExit('a conftest of the caller')")
    (caller / "pytest.ini").write_text("[pytest]\naddopts = --no-such-option\n")
    monkeypatch.chdir(caller)
    monkeypatch.setenv("GRADER_SECRET", "s")
    monkeypatch.setenv("GITHUB_TOKEN", "t")
    monkeypatch.setenv("PYTEST_ADDOPTS", "--no-such-option")
    monkeypatch.setenv("PYTEST_PLUGINS", "no_such_plugin")
    before = dict(os.environ)
    report = Grader(surroundings, launcher).grade({"m.py": b"def f(x): return 2 * x"}, "m")
    assert report.code_is_right, report.code()
    assert os.getcwd() == str(caller)
    after = {k: v for k, v in os.environ.items() if k != "PYTEST_CURRENT_TEST"}
    assert after == {k: v for k, v in before.items() if k != "PYTEST_CURRENT_TEST"}
