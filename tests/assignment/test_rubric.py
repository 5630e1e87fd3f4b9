"""Rubrics: exact points, consistent rows, and complaints that say what to mend."""

from decimal import Decimal

import pytest

from grader.assignment import assignment_ids, load_assignment, recognise
from grader.errors import AssignmentError, InputError
from grader.grading.lint import problems
from grader.grading.titles import titles
from grader.intake import read

RUBRIC = """
schema = "transformer-grader/rubric/1"
id = "{id}"
title = "T"
lesson = "L"
module = "m"
mask_convention = "True = may attend"
[[components]]
name = "f"
arguments = ["x"]
[[milestones]]
id = "one"
title = "One"
{checks}
"""
CHECK = """
[[milestones.checks]]
id = "{id}"
points = {points}
needs = {needs}
component = "{component}"
hint = "h"
lesson = "l"
"""


def row(name, points="0.1", needs="[]", component="f"):
    return CHECK.format(id=name, points=points, needs=needs, component=component)


@pytest.fixture
def folder(tmp_path):
    def write(*rows, tests=""):
        path = tmp_path / "little"
        path.mkdir()
        (path / "rubric.toml").write_text(RUBRIC.format(id="little", checks="".join(rows)))
        (path / "test_it.py").write_text(tests)
        return path

    return write


def test_points_are_exact_decimals(folder):
    loaded = load_assignment(folder(row("a"), row("b"), row("c")))
    assert loaded.points == Decimal("0.3")
    assert str(loaded.points) == "0.3"


@pytest.mark.parametrize("name", assignment_ids())
def test_bundled_assignments_are_sound(name):
    loaded = load_assignment(name)
    assert problems(loaded) == []
    assert loaded.points > 0
    for _, check in loaded.checks():
        assert check.hint.endswith((".", "`"))
        assert check.lesson.startswith("Lesson ")
    assert all(title != check for check, title in titles(loaded).items())


@pytest.mark.parametrize(
    ("rows", "word"),
    [
        ([row("a"), row("a")], "two checks have the id a"),
        ([row("a", needs='["b"]'), row("b")], "does not come before"),
        ([row("a", component="g")], "is no component"),
        ([row("a", points="0")], "greater than 0"),
        ([row("a", points='"x"')], "points"),
        ([row("Not-An-Id")], "pattern"),
        ([], "checks"),
        ([row("a") + "colour = 'red'\n"], "colour"),
        (["this is no TOML"], "cannot be read"),
    ],
)
def test_a_rubric_that_does_not_hold_together_is_refused(folder, rows, word):
    with pytest.raises(AssignmentError, match=word):
        load_assignment(folder(*rows))


def test_lint_finds_rows_without_tests_and_tests_without_rows(folder):
    tests = 'def test_a(student):\n    """A."""\n\ndef test_extra(student):\n    """E."""\n'
    found = problems(load_assignment(folder(row("a"), row("b"), tests=tests)))
    assert found == ["b: a row without a test", "extra: a test without a row in the rubric"]


def test_lint_finds_tests_without_title_or_student(folder):
    found = problems(load_assignment(folder(row("a"), tests="def test_a(draw):\n    pass\n")))
    assert len(found) == 2
    assert "docstring" in found[0]
    assert "student" in found[1]


def test_lint_finds_a_test_that_stands_twice(folder):
    tests = 'def test_a(student):\n    """A."""\n' * 2
    with pytest.raises(AssignmentError, match="two tests"):
        problems(load_assignment(folder(row("a"), tests=tests)))


def test_lint_finds_other_names_that_mean_two_things_or_are_misspellings(folder):
    path = folder(row("a"), tests='def test_a(student):\n    """A."""\n')
    more = '[[components]]\nname = "g"\narguments = []\nother_names = ["f", "h", "G"]\n'
    rubric = (
        (path / "rubric.toml")
        .read_text()
        .replace('arguments = ["x"]\n', f'arguments = ["x"]\nother_names = ["h"]\n{more}')
    )
    (path / "rubric.toml").write_text(rubric)
    assert problems(load_assignment(path)) == [
        "f: another name of f and of g",
        "h: another name of f and of g",
        "G: a misspelling of g, which is never used",
    ]


def test_lint_finds_names_of_two_arguments_of_one_call(folder):
    path = folder(row("a"), tests='def test_a(student):\n    """A."""\n')
    rubric = (
        (path / "rubric.toml")
        .read_text()
        .replace('arguments = ["x"]', 'arguments = ["x", "y", "z"]\nforward = ["d_model", "d_ff"]')
    )
    rubric = rubric.replace("[[components]]", '[synonyms]\ny = ["z", "src"]\n[[components]]')
    (path / "rubric.toml").write_text(rubric)
    assert problems(load_assignment(path)) == [
        "src: a name of x and of y, both arguments of f",
        "z: a name of y and of z, both arguments of f",
    ]


@pytest.mark.parametrize("name", assignment_ids())
def test_arguments_of_bundled_assignments_have_usual_other_names(name):
    loaded = load_assignment(name)
    for component in loaded.components:
        for argument in (*component.arguments, *(component.forward or ())):
            assert len(loaded.argument_names(argument)) > 3


def test_a_rubrics_synonyms_come_before_the_usual_ones():
    names = load_assignment("transformer_review").argument_names("x")
    assert names[:3] == ["x", "h", "input"]


def test_an_unknown_assignment_is_told_with_those_there_are():
    with pytest.raises(InputError, match="multi_head_attention"):
        load_assignment("nonsense")


@pytest.mark.parametrize("text", ["def split_heads(x): ...", "class MultiheadAttention: ..."])
def test_an_assignment_is_recognised_by_its_definitions(text):
    submission = read({"a.py": (text + "\ndef merge_heads(x): ...\n").encode()}, "a")
    assert recognise(submission).id == "multi_head_attention"


def test_a_submission_with_no_known_definition_is_told_what_is_expected():
    with pytest.raises(InputError, match="split_heads"):
        recognise(read({"a.py": b"x = 1\n"}, "a"))


def test_two_assignments_that_fit_are_both_named(monkeypatch):
    loaded = load_assignment("multi_head_attention")
    twin = loaded.model_copy(update={"id": "twin"})
    monkeypatch.setattr("grader.assignment.catalogue.assignment_ids", lambda: ["a", "b"])
    monkeypatch.setattr(
        "grader.assignment.catalogue.load_assignment", {"a": loaded, "b": twin}.__getitem__
    )
    submission = read({"a.py": b"def split_heads(x): ...\n"}, "a")
    with pytest.raises(InputError, match="multi_head_attention and twin"):
        recognise(submission)
