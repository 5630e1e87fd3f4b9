"""A check that comes from another assignment: its test runs, its words are inherited."""

import re

import pytest

from grader.assignment import load_assignment
from grader.errors import AssignmentError
from grader.grading import Grader
from grader.grading.lint import problems
from grader.grading.titles import test_functions as functions_of
from grader.grading.titles import titles

HEAD = """
schema = "transformer-grader/rubric/1"
id = "{id}"
title = "T"
lesson = "L"
module = "m"
[[components]]
name = "f"
arguments = ["x"]
[[components]]
name = "g"
arguments = ["x"]
[[milestones]]
id = "one"
title = "One"
"""
FULL = 'component = "f"\nhint = "the first hint"\nlesson = "the first lesson"\nseconds = 7\n'
DOUBLES = 'def test_doubles(student):\n    """It doubles."""\n    assert student.f(2) == 4\n'
TRIPLES = 'def test_triples(student):\n    """It triples."""\n    assert student.g(2) == 6\n'


def row(name, more=FULL, points="0.5"):
    return f'[[milestones.checks]]\nid = "{name}"\npoints = {points}\n{more}'


def taken(name="doubles", more="", source="first"):
    return row(name, f'from = "{source}"\n{more}')


@pytest.fixture
def write(tmp_path):
    def assignment(name, *rows, tests=""):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "rubric.toml").write_text(HEAD.format(id=name) + "".join(rows))
        # a name of its own, since pytest takes files of one name for one module
        (folder / f"test_{name}_{re.sub(r'[^a-z0-9]', '_', tmp_path.name)}.py").write_text(tests)
        return folder

    return assignment


@pytest.fixture
def first(write):
    """An assignment whose test another one takes."""
    return write(
        "first", row("doubles"), row("spare"), tests=DOUBLES + DOUBLES.replace("doubles", "spare")
    )


@pytest.fixture
def second(write, first):
    """Takes one check from the first, and has one of its own."""
    own = row("triples", FULL.replace('"f"', '"g"'))
    return load_assignment(write("second", taken(), own, tests=TRIPLES))


def check_of(assignment, name):
    return next(check for _, check in assignment.checks() if check.id == name)


def test_a_taken_check_inherits_what_its_row_does_not_say(second):
    check = check_of(second, "doubles")
    assert (check.component, check.hint, check.lesson, check.seconds) == (
        "f",
        "the first hint",
        "the first lesson",
        7,
    )


@pytest.mark.parametrize(
    ("more", "key", "value"),
    [
        ('hint = "mine"\n', "hint", "mine"),
        ('lesson = "mine"\n', "lesson", "mine"),
        ('component = "g"\n', "component", "g"),
        ("seconds = 2\n", "seconds", 2),
    ],
)
def test_what_a_row_says_itself_goes_before_what_it_would_inherit(write, first, more, key, value):
    check = check_of(load_assignment(write("second", taken(more=more))), "doubles")
    assert getattr(check, key) == value
    assert check.hint in ("the first hint", "mine")


def test_points_and_needs_are_never_inherited(write):
    write(
        "first",
        row("spare"),
        row("doubles", FULL + 'needs = ["spare"]\nhidden = true\n', "2.5"),
    )
    check = check_of(load_assignment(write("second", taken())), "doubles")
    assert (str(check.points), check.needs, check.hidden) == ("0.5", (), False)
    with pytest.raises(AssignmentError, match="points"):
        load_assignment(write("third", taken().replace("points = 0.5\n", "")))


def test_the_title_is_that_of_the_test_that_is_taken(second):
    assert titles(second) == {"doubles": "It doubles.", "triples": "It triples."}


def test_the_test_lies_in_the_neighbours_folder(second, first):
    check = check_of(second, "doubles")
    assert second.test_folder(check) == first
    assert functions_of(second.test_folder(check))["doubles"].path.parent == first
    assert second.test_folder(check_of(second, "triples")) == second.folder


def test_an_assignment_with_a_taken_check_is_sound(second):
    assert problems(second) == []


def test_lint_complains_about_a_taken_check_that_is_not_there(write, first):
    found = problems(load_assignment(write("second", taken("absent", FULL))))
    assert found == ["absent: first has no test of that id"]


def test_lint_complains_about_a_test_beside_a_row_that_takes_another(write, first):
    found = problems(load_assignment(write("second", taken(), tests=DOUBLES)))
    assert found == ["doubles: a test without a row in the rubric"]


def test_a_check_from_an_assignment_that_is_not_there_is_told(write):
    with pytest.raises(AssignmentError, match="nowhere"):
        load_assignment(write("second", taken(source="nowhere", more=FULL)))


@pytest.mark.parametrize("source", ["'../first'", "'First!'", "3", "['first']"])
def test_a_source_that_is_no_id_is_told(write, first, source):
    with pytest.raises(AssignmentError):
        load_assignment(write("second", row("doubles", f"from = {source}\n{FULL}")))


def test_a_check_that_inherits_nothing_must_say_everything(write, first):
    with pytest.raises(AssignmentError, match="hint"):
        load_assignment(write("second", taken("absent")))


def status_of(assignment, launcher, text):
    report = Grader(assignment, launcher).grade({"a.py": text.encode()}, "a")
    return {check.id: check for check in report.checks()}


RIGHT = "def f(x):\n    return 2 * x\n\n\ndef g(x):\n    return 3 * x\n"


def test_the_taken_test_runs_and_only_that_of_its_file(second, launcher):
    found = status_of(second, launcher, RIGHT)
    assert {name: check.status for name, check in found.items()} == {
        "doubles": "passed",
        "triples": "passed",
    }


def test_a_failure_of_a_taken_test_has_the_points_here_and_the_words_from_there(second, launcher):
    found = status_of(second, launcher, RIGHT.replace("2 * x", "x"))
    assert (found["doubles"].status, found["triples"].status) == ("failed", "passed")
    assert found["doubles"].hint == "the first hint"
    assert found["doubles"].lesson == "the first lesson"
    assert found["doubles"].title == "It doubles."
    assert str(found["doubles"].max_score) == "0.5"
    assert found["doubles"].location.line == 1


def test_a_check_may_be_needed_by_one_that_is_taken(write, first, launcher):
    rows = (row("triples", FULL.replace('"f"', '"g"')), taken(more='needs = ["triples"]\n'))
    assignment = load_assignment(write("second", *rows, tests=TRIPLES))
    found = status_of(assignment, launcher, RIGHT.replace("3 * x", "x"))
    assert {name: check.status for name, check in found.items()} == {
        "triples": "failed",
        "doubles": "blocked",
    }


def test_an_assignment_whose_checks_are_all_taken_can_be_graded(write, first, launcher):
    assignment = load_assignment(write("second", taken(), taken("spare")))
    found = status_of(assignment, launcher, RIGHT)
    assert [check.status for check in found.values()] == ["passed", "passed"]


def test_a_taken_test_that_is_not_there_is_an_error_of_the_assignment(write, first, launcher):
    assignment = load_assignment(write("second", taken("absent", FULL)))
    with pytest.raises(AssignmentError, match="first has no test for the check absent"):
        status_of(assignment, launcher, RIGHT)


def test_tests_in_files_of_the_same_name_are_those_of_their_own_assignment(tmp_path, launcher):
    for name, tests in (("one", DOUBLES), ("two", DOUBLES.replace("== 4", "== 5"))):
        folder = tmp_path / name
        folder.mkdir()
        (folder / "rubric.toml").write_text(HEAD.format(id=name) + row("doubles"))
        (folder / "test_of_one_name.py").write_text(tests)
        found = status_of(load_assignment(folder), launcher, RIGHT)
        assert found["doubles"].status == ("passed" if name == "one" else "failed")
