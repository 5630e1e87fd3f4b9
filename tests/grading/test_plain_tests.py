"""A check that is a plain function is called at once; everything else goes pytest's own way."""

import pytest

from grader.assignment import load_assignment
from grader.grading import Grader
from grader.grading.plugin import GradingPlugin
from grader.grading.pytest_run import run_pytest

RUBRIC = """
schema = "transformer-grader/rubric/1"
id = "kinds"
title = "Kinds of tests"
lesson = "A lesson"
module = "m"
[[components]]
name = "f"
arguments = ["x"]
[[milestones]]
id = "one"
title = "One"
[[milestones.checks]]
id = "it"
points = 1
component = "f"
hint = "A hint."
lesson = "A lesson"
"""
PLAIN = {
    "function": """
def test_it(student, reference, draw, note, passed):
    note(f"{draw.normal(1).shape} {passed('it')}")
    assert student.f(2) == 4
""",
    "cases": """
import pytest

@pytest.mark.parametrize("x", [1, 2])
@pytest.mark.parametrize(("factor", "draw"), [(2, "a value of the case's own")])
def test_it(student, x, factor, draw):
    assert draw == "a value of the case's own"
    assert student.f(x) == factor * x
""",
    "default": """
def test_it(student, x=3):
    assert student.f(x) == 6
""",
}
OTHERS = {
    "fixture of the module": """
import pytest

@pytest.fixture
def x():
    yield 3
    raise ValueError("its end is reached")

def test_it(student, x):
    assert student.f(x) == 6
""",
    "fixture under a name of the grader's": """
import pytest

@pytest.fixture
def draw(student):
    return student.f(4)

def test_it(draw):
    assert draw == 7, "its own draw is used"
""",
    "fixture that every test uses": """
import pytest

@pytest.fixture(autouse=True)
def around():
    raise ValueError("it is used")

def test_it(student):
    student.f(1)
""",
    "fixture that is used by a mark": """
import pytest

@pytest.fixture
def around():
    raise ValueError("it is used")

@pytest.mark.usefixtures("around")
def test_it(student):
    student.f(1)
""",
    "fixture with cases": """
import pytest

@pytest.fixture(params=[1, 2])
def x(request):
    return request.param + 1

def test_it(student, x):
    assert student.f(x) == 4, "the second case"
""",
    "indirect cases": """
import pytest

@pytest.fixture
def x(request):
    return request.param + 1

@pytest.mark.parametrize("x", [1, 2], indirect=True)
def test_it(student, x):
    assert student.f(x) == 4, "the second case"
""",
    "cases of a hook": """
def pytest_generate_tests(metafunc):
    metafunc.parametrize("x", [2, 3])

def test_it(student, x):
    assert student.f(x) == 4, "the second case"
""",
    "setup": """
def setup_function(function):
    raise ValueError("it is used")

def test_it(student):
    student.f(1)
""",
    "request": """
def test_it(request, student):
    request.addfinalizer(lambda: student.f(None))
    student.f(1)
""",
}
RAISED = {
    "an assertion": ("assert student.f(2) == 5, 'not five'", "not five"),
    "an error of the grader's": ("raise ValueError('odd')", "ValueError: odd"),
    "what is no Exception": ("raise SystemExit(3)", "SystemExit: 3"),
    "a skip": ("import pytest; pytest.skip('not now')", "Skipped: not now"),
    "an error of the student's": ("student.f(None)", "It raised TypeError"),
}


def assignment_with(folder, source):
    (folder / "rubric.toml").write_text(RUBRIC)
    (folder / "test_kinds.py").write_text(source)
    return load_assignment(folder)


@pytest.fixture
def kinds(tmp_path):
    folder = tmp_path / "kinds"
    folder.mkdir()
    return folder


def plain_tests(assignment):
    """Which of an assignment's tests count as plain."""
    plugin = GradingPlugin(assignment, "", iter(()), lambda _: None, lambda _: None)
    run_pytest(assignment, plugin)
    return {item.name: item in plugin._plain for items in plugin._items.values() for item in items}


def row(assignment, launcher):
    """The report's row of its only check, for two submissions in one run."""
    files = {"m.py": b"def f(x): return 2 * x"}
    first, second = Grader(assignment, launcher).grade_all([("a", files), ("b", files)])
    (check,) = first.code()
    assert list(second.code()) == [check]
    return check


@pytest.mark.parametrize("kind", PLAIN)
def test_plain_functions_are_called_at_once(kinds, launcher, kind):
    assignment = assignment_with(kinds, PLAIN[kind])
    assert all(plain_tests(assignment).values())
    assert row(assignment, launcher).status == "passed"


@pytest.mark.parametrize("kind", OTHERS)
def test_everything_else_goes_the_way_of_pytest(kinds, launcher, kind):
    assignment = assignment_with(kinds, OTHERS[kind])
    assert not any(plain_tests(assignment).values())
    check = row(assignment, launcher)
    assert check.status != "passed"
    assert any(word in check.message for word in ("own draw", "second", "is used", "end", "None"))


@pytest.mark.parametrize("kind", RAISED)
def test_what_a_plain_function_raises_is_told_as_in_any_test(kinds, launcher, kind):
    line, message = RAISED[kind]
    plain = assignment_with(kinds, f"def test_it(student):\n    {line}\n")
    assert all(plain_tests(plain).values())
    first = row(plain, launcher)
    other = assignment_with(kinds, f"def test_it(student, request):\n    {line}\n")
    assert not any(plain_tests(other).values())
    second = row(other, launcher)
    assert (first.status, first.message) == (second.status, second.message)
    assert message in (first.message or "")


def test_an_interrupt_ends_the_run(kinds, launcher):
    assignment = assignment_with(kinds, "def test_it():\n    raise KeyboardInterrupt\n")
    with pytest.raises(KeyboardInterrupt):
        row(assignment, launcher)
