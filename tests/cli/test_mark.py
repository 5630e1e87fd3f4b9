"""Marks and questions on the command line: exit codes, sentences, files."""

import csv
import json
from contextlib import nullcontext

import pytest
from typer.testing import CliRunner

from grader.assignment import load_assignment
from grader.cli.app import app
from grader.errors import InputError
from grader.grading import Grader
from grader.report import read_report
from tests.cli.test_cli import run

ASSIGNMENT = "multi_head_attention"
OPEN = "plan-before-the-code"
CODE = """
def split_heads(x, n_heads):
    raise NotImplementedError


def merge_heads(x):
    raise NotImplementedError


ANSWERS = {{"plan-before-the-code": "{text}", "scale-for-d-k-64": "1/8"}}
"""


def write(path, text="First the shapes."):
    path.parent.mkdir(exist_ok=True)
    path.write_text(CODE.format(text=text))
    return path


def rows_of(report):
    return {row.id: row for row in report.checks()}


def reviews(report):
    return [f.message for f in report.findings if f.kind == "review"]


@pytest.fixture(scope="module")
def graded(launcher):
    """The JSON of a submission whose open answer waits for a mark."""
    files = {"a.py": CODE.format(text="First the shapes.").encode()}
    return Grader(load_assignment(ASSIGNMENT), launcher).grade(files, "a.py").to_json()


@pytest.fixture
def invoke(launcher, monkeypatch):
    """Runs a command in this process, with the workers that other tests use."""
    monkeypatch.setattr("grader.worker.client.make_launcher", lambda *_: nullcontext(launcher))

    def command(*arguments):
        return CliRunner().invoke(app, [str(argument) for argument in arguments])

    return command


def told(result):
    """The sentence with which `main` ends a command that was refused."""
    assert isinstance(result.exception, InputError)
    return str(result.exception)


@pytest.fixture
def report(tmp_path, graded):
    path = tmp_path / "report.json"
    path.write_text(graded)
    return path


def test_a_mark_is_entered_into_a_report_and_told_in_a_line(report):
    before = read_report(report.read_text())
    result = run("mark", report, OPEN, "0,1", "--comment", "A plan.")
    assert result.returncode == 0, result.stderr
    assert result.stdout.startswith(f"{OPEN}: 0.1 of 0.14; a.py has 0.17 of ")
    after = read_report(report.read_text())
    assert float(after.score - before.score) == pytest.approx(0.1)
    assert rows_of(after)[OPEN].message == "Marked by a person: A plan."


def test_a_mark_that_cannot_be_is_one_sentence_and_2(report, graded):
    result = run("mark", report, OPEN, "0.15")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == f"grader: {OPEN} is worth 0 to 0.14 points, not 0.15.\n"


@pytest.mark.parametrize(
    ("check", "score", "sentence"),
    [
        (OPEN, "0.15", "is worth 0 to 0.14 points, not 0.15."),
        (OPEN, "1e999999999", "is worth 0 to 0.14 points"),
        (OPEN, "ten", "'ten' is no number of points."),
        (OPEN, "nan", "'nan' is no number of points."),
        (OPEN, "", "'' is no number of points."),
        ("nonsense", "0.1", "no check or question 'nonsense'"),
    ],
)
def test_a_mark_that_cannot_be_changes_nothing(report, graded, invoke, check, score, sentence):
    assert sentence in told(invoke("mark", report, check, score))
    assert report.read_text() == graded
    assert [path.name for path in report.parent.iterdir()] == ["report.json"]


@pytest.mark.parametrize("text", [None, "{}", "no json"])
def test_a_source_that_is_no_report_is_told(tmp_path, invoke, text):
    path = tmp_path / "report.json"
    if text is not None:
        path.write_text(text)
    assert "report.json" in told(invoke("mark", path, OPEN, "0.1"))


def test_a_check_into_the_same_file_keeps_its_marks_and_notes_a_changed_answer(tmp_path, invoke):
    source, report = write(tmp_path / "a.py"), tmp_path / "report.json"
    invoke("check", source, "--json", report)
    assert invoke("mark", report, OPEN, "0.1", "-c", "A plan.").exit_code == 0
    assert invoke("check", source, "--json", report).exit_code == 1
    again = read_report(report.read_text())
    assert rows_of(again)[OPEN].message == "Marked by a person: A plan."
    assert reviews(again) == []
    write(source, "Something else.")
    invoke("check", source, "--json", report)
    changed = read_report(report.read_text())
    assert rows_of(changed)[OPEN].score == rows_of(again)[OPEN].score
    assert OPEN in reviews(changed)[0]


def test_a_class_is_marked_by_submission_and_graded_again_with_its_marks(tmp_path, invoke):
    folder, out = tmp_path / "class", tmp_path / "out"
    write(folder / "ada.py")
    write(folder / "bob.py", "Another plan.")
    grade = ("grade", folder, "--out", out, "--assignment", ASSIGNMENT)

    def book():
        with open(out / "gradebook.csv", newline="") as file:
            return {line["submission"]: line for line in csv.DictReader(file)}

    assert invoke(*grade).exit_code == 0
    before = book()
    result = invoke("mark", out, OPEN, "0.14", "--submission", "ada.py", "--comment", "Clear.")
    assert result.exit_code == 0
    assert "0.14 of 0.14; ada.py has 0.21 of " in result.stdout
    assert (book()["ada.py"]["questions"], book()["ada.py"]["score"]) == ("0.21", "0.21")
    assert invoke(*grade).exit_code == 0
    assert book()["ada.py"]["score"] == "0.21"
    assert book()["bob.py"] == before["bob.py"]
    data = json.loads((out / "reports" / "ada.py.json").read_text())
    questions = {row["id"]: row for row in data["milestones"][-1]["checks"]}
    assert questions[OPEN]["message"] == "Marked by a person: Clear."
    assert "--submission" in told(invoke("mark", out, OPEN, "0.1"))
    assert "'eve.py'" in told(invoke("mark", out, OPEN, "0.1", "-s", "eve.py"))


def test_a_folder_that_is_no_class_is_told(tmp_path, invoke):
    assert "gradebook" in told(invoke("mark", tmp_path, OPEN, "0.1", "-s", "ada.py"))


def test_questions_are_shown_in_full_without_their_answers(invoke):
    brief = invoke("show", ASSIGNMENT)
    result = invoke("show", ASSIGNMENT, "--questions")
    assert result.exit_code == 0
    shown = " ".join(result.stdout.split())
    questions = load_assignment(ASSIGNMENT).questions.questions
    assert f"{len(questions)} questions; --questions prints them" in " ".join(brief.stdout.split())
    for question in questions:
        assert question.id in result.stdout
        assert " ".join(question.prompt.split()) in shown
        hidden = getattr(question, "explanation", None) or question.guide
        assert " ".join(hidden.split()) not in shown
    assert questions[0].prompt not in brief.stdout


def test_an_open_answer_that_waits_costs_no_exit_code_but_a_wrong_one_does(tmp_path, invoke):
    def code_of(text):
        source = tmp_path / "a.py"
        source.write_text(text)
        return invoke("check", source, "-a", ASSIGNMENT, "-m", "questions").exit_code

    right = {
        question.id: "My text." if question.kind == "open" else question.answer
        for question in load_assignment(ASSIGNMENT).questions.questions
    }
    start = "def split_heads(x, n_heads):\n    raise NotImplementedError\n\n\n"
    assert code_of(f"{start}ANSWERS = {right!r}\n") == 0
    assert code_of(f"{start}ANSWERS = { ({**right, 'scale-for-d-k-64': 3})!r}\n") == 1
