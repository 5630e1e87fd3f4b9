"""A person's marks: they enter the sums, outlive regrading, and tell when an answer changed."""

import csv
import json
from decimal import Decimal

import pytest

from grader.assignment import load_assignment
from grader.batch import find_submissions, grade_class, load_report, mark_in_class
from grader.batch.folder import GRADEBOOK, MARKS
from grader.batch.here import Here
from grader.errors import InputError
from grader.grading.marks import (
    Mark,
    Marks,
    load_marks,
    make_mark,
    marks_file,
    with_marks,
)
from grader.report import SCHEMA, CheckRow, Environment, MilestoneRow, Report, read_report


def row(name, status="passed", score="1", worth="1", got=None):
    return CheckRow(
        id=name, title=name, status=status, score=Decimal(score), max_score=Decimal(worth), got=got
    )


def milestone(name, *rows):
    score, worth = (sum(getattr(r, key) for r in rows) for key in ("score", "max_score"))
    return MilestoneRow(id=name, title=name, score=score, max_score=worth, checks=rows)


def report_of(answer="my text"):
    parts = (
        milestone("code", row("a"), row("b", "failed", "0")),
        milestone("questions", row("open", "review", "0", "0.15", answer)),
    )
    return Report(
        schema=SCHEMA,
        submission="ada.py",
        digest="sha256:0",
        assignment="little",
        status="graded",
        score=sum(part.score for part in parts),
        max_score=sum(part.max_score for part in parts),
        milestones=parts,
        environment=Environment(grader="0", torch="0", isolation="none"),
        seconds=0.0,
    )


def marked(report, score="0.1", comment="", check="open"):
    return with_marks(report, [make_mark(report, check, Decimal(score), comment)])


def by_id(report):
    return {check.id: check for check in report.checks()}


def test_a_mark_enters_the_row_its_milestone_and_the_sum():
    report = marked(report_of(), "0.1", " Half of it. ")
    assert by_id(report)["open"].score == Decimal("0.1")
    assert by_id(report)["open"].message == "Marked by a person: Half of it."
    assert [m.score for m in report.milestones] == [1, Decimal("0.1")]
    assert report.score == Decimal("1.1")
    assert read_report(report.to_json()) == report


@pytest.mark.parametrize(
    ("score", "status"), [("0.15", "passed"), ("0.1", "failed"), ("0", "failed")]
)
def test_a_marked_row_waits_no_more(score, status):
    assert by_id(marked(report_of(), score))["open"].status == status


def test_a_mark_leaves_the_other_rows_and_the_answer_alone():
    before, after = by_id(report_of()), by_id(marked(report_of()))
    assert after["open"].got == "my text"
    assert (after["a"], after["b"]) == (before["a"], before["b"])


def test_a_check_may_be_marked_too():
    report = marked(report_of(), "0.5", check="b")
    assert report.score == Decimal("1.5")


def test_marks_of_one_cent_add_up_exactly():
    report = marked(report_of(), "0.01")
    assert json.loads(report.to_json())["score"] == 1.01


@pytest.mark.parametrize("score", ["0.16", "1", "-0.01"])
def test_a_mark_beyond_the_rows_points_is_refused(score):
    with pytest.raises(InputError, match=r"open is worth 0 to 0\.15 points"):
        make_mark(report_of(), "open", Decimal(score), "")


def test_a_mark_for_no_row_is_refused_and_what_waits_is_named():
    with pytest.raises(InputError, match=r"no check or question 'opne'.*waits for a mark is open"):
        make_mark(report_of(), "opne", Decimal(0), "")


def test_the_same_answer_keeps_its_mark_and_says_nothing():
    mark = make_mark(report_of(), "open", Decimal("0.1"), "")
    again = with_marks(report_of(), [mark])
    assert again.findings == ()
    assert with_marks(again, [mark]) == again


def test_a_changed_answer_keeps_its_mark_and_is_for_a_person_to_look_at():
    mark = make_mark(report_of(), "open", Decimal("0.1"), "")
    again = with_marks(report_of("another text"), [mark])
    (finding,) = again.findings
    assert (finding.kind, "open" in finding.message) == ("review", True)
    assert again.score == Decimal("1.1")


def test_a_mark_for_a_row_that_is_gone_is_a_finding():
    mark = Mark(submission="ada.py", check="gone", score=Decimal(1))
    again = with_marks(report_of(), [mark])
    (finding,) = again.findings
    assert (finding.kind, "gone" in finding.message) == ("review", True)
    assert again.score == 1


def test_a_mark_above_points_that_were_lowered_counts_as_all_of_them():
    mark = make_mark(report_of(), "open", Decimal("0.15"), "").model_copy(
        update={"score": Decimal(3)}
    )
    again = with_marks(report_of(), [mark])
    assert by_id(again)["open"].score == Decimal("0.15")


def test_the_last_mark_for_a_row_counts_and_those_of_others_stay():
    first = Mark(submission="ada.py", check="open", score=Decimal("0.1"))
    other = Mark(submission="bob.py", check="open", score=Decimal("0.05"))
    second = first.model_copy(update={"score": Decimal("0.15")})
    marks = Marks().with_mark(first).with_mark(other).with_mark(second)
    assert marks.of("ada.py") == [second]
    assert marks.of("bob.py") == [other]
    assert marks.of("eve.py") == []


def test_marks_are_read_as_they_were_written(tmp_path):
    marks = Marks().with_mark(make_mark(report_of(), "open", Decimal("0.1"), "Good – “é”."))
    path = tmp_path / "marks.json"
    path.write_text(marks.to_json(), encoding="utf-8")
    assert load_marks(path) == marks
    assert load_marks(path).marks[0].score == Decimal("0.1")
    assert json.loads(path.read_text())["schema"] == "transformer-grader/marks/1"


def test_without_a_file_there_are_no_marks(tmp_path):
    assert load_marks(tmp_path / "marks.json") == Marks()


@pytest.mark.parametrize("data", [b"", b"{", b"[]", b'{"marks": [{}]}', b"\xff", b'{"more": 1}'])
def test_a_file_that_holds_no_marks_is_told_and_not_overwritten(tmp_path, data):
    path = tmp_path / "marks.json"
    path.write_bytes(data)
    with pytest.raises(InputError, match=r"marks\.json"):
        load_marks(path)
    assert path.read_bytes() == data


def test_marks_of_a_report_by_itself_lie_beside_it(tmp_path):
    assert marks_file(tmp_path / "r.json") == tmp_path / "r.json.marks.json"


# a class

RUBRIC = """
schema = "transformer-grader/rubric/1"
id = "little"
title = "T"
lesson = "L"
module = "m"
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
lesson = "l"
"""
QUESTIONS = """
schema = "transformer-grader/questions/1"
title = "Questions"
[[questions]]
id = "why"
kind = "open"
points = 0.5
lesson = "l"
prompt = "Why?"
guide = "g"
"""
TEST = 'def test_doubles(student):\n    """It doubles."""\n    assert student.f(2) == 4\n'
CODE = "def f(x):\n    return 2 * x\n\n\nANSWERS = {{'why': {answer}}}\n"


@pytest.fixture
def class_of(tmp_path, launcher):
    """Grades a class of texts by name for a little assignment, always into the same folder."""
    folder, out = tmp_path / "little", tmp_path / "out"
    folder.mkdir()
    for name, text in (("rubric.toml", RUBRIC), ("questions.toml", QUESTIONS), ("test_f.py", TEST)):
        (folder / name).write_text(text)
    assignment = load_assignment(folder)

    def grade(**answers):
        for name, answer in answers.items():
            path = tmp_path / "class" / f"{name}.py"
            path.parent.mkdir(exist_ok=True)
            path.write_text(CODE.format(answer=answer if name == "raw" else repr(answer)))
        found = find_submissions([tmp_path / "class"])
        grade_class(found, assignment, out, Here(assignment, launcher))
        return out

    return grade


def book_of(out):
    with open(out / GRADEBOOK, newline="", encoding="utf-8") as file:
        return {line["submission"]: line for line in csv.DictReader(file)}


def report_in(out, name):
    return load_report(out / "reports" / f"{name}.json")


def test_a_mark_in_a_class_enters_report_and_gradebook_of_that_one(class_of):
    out = class_of(ada="Because.", bob="So.")
    before = book_of(out)
    assert (before["ada.py"]["score"], before["ada.py"]["review"]) == ("1", "1")
    returned = mark_in_class(out, "ada.py", "why", Decimal("0.4"), "Nearly.")
    after = book_of(out)
    assert (after["ada.py"]["score"], after["ada.py"]["questions"]) == ("1.4", "0.4")
    assert after["ada.py"]["review"] == "0"
    assert after["bob.py"] == before["bob.py"]
    assert list(after) == list(before)
    assert report_in(out, "ada.py") == returned
    assert by_id(returned)["why"].message == "Marked by a person: Nearly."
    assert report_in(out, "bob.py").score == 1


def test_grading_a_class_again_keeps_its_marks(class_of):
    out = class_of(ada="Because.", bob="So.")
    mark_in_class(out, "ada.py", "why", Decimal("0.4"), "Nearly.")
    class_of(ada="Because.", bob="So.")
    assert book_of(out)["ada.py"]["score"] == "1.4"
    report = report_in(out, "ada.py")
    assert by_id(report)["why"].message == "Marked by a person: Nearly."
    assert [f for f in report.findings if f.kind == "review"] == []


def test_an_answer_that_changed_after_its_mark_is_found_when_graded_again(class_of):
    out = class_of(ada="Because.", bob="So.")
    mark_in_class(out, "ada.py", "why", Decimal("0.4"), "")
    mark_in_class(out, "bob.py", "why", Decimal("0.5"), "")
    class_of(ada="Something else.")
    (finding,) = (f for f in report_in(out, "ada.py").findings if f.kind == "review")
    assert "why has changed" in finding.message
    assert [f for f in report_in(out, "bob.py").findings if f.kind == "review"] == []
    assert {name: line["score"] for name, line in book_of(out).items()} == {
        "ada.py": "1.4",
        "bob.py": "1.5",
    }


def test_marking_a_row_twice_keeps_the_last_mark(class_of):
    out = class_of(ada="Because.")
    mark_in_class(out, "ada.py", "why", Decimal("0.1"), "One.")
    mark_in_class(out, "ada.py", "why", Decimal("0.5"), "Two.")
    assert book_of(out)["ada.py"]["score"] == "1.5"
    assert len(load_marks(out / MARKS).marks) == 1
    class_of(ada="Because.")
    assert by_id(report_in(out, "ada.py"))["why"].message == "Marked by a person: Two."


def test_a_second_mark_after_a_changed_answer_settles_it(class_of):
    out = class_of(ada="Because.")
    mark_in_class(out, "ada.py", "why", Decimal("0.1"), "")
    class_of(ada="Something else.")
    mark_in_class(out, "ada.py", "why", Decimal("0.2"), "")
    class_of(ada="Something else.")
    assert [f for f in report_in(out, "ada.py").findings if f.kind == "review"] == []
    assert book_of(out)["ada.py"]["score"] == "1.2"


@pytest.mark.parametrize(
    ("submission", "check", "score", "word"),
    [
        ("eve.py", "why", "0.1", "no report of 'eve.py'.*ada.py"),
        ("ada.py", "whence", "0.1", "no check or question 'whence'"),
        ("ada.py", "why", "0.6", "worth 0 to 0.5"),
    ],
)
def test_a_mark_that_cannot_be_changes_nothing(class_of, submission, check, score, word):
    out = class_of(ada="Because.")
    before = {p: p.read_bytes() for p in out.rglob("*") if p.is_file()}
    with pytest.raises(InputError, match=word):
        mark_in_class(out, submission, check, Decimal(score), "")
    assert {p: p.read_bytes() for p in out.rglob("*") if p.is_file()} == before


def test_a_folder_that_is_no_class_is_told(tmp_path):
    with pytest.raises(InputError, match="no gradebook"):
        mark_in_class(tmp_path, "ada.py", "why", Decimal(0), "")


@pytest.mark.parametrize("answer", ["'\\ud800'", "0x" + "f" * 5000], ids=["surrogate", "long"])
def test_one_answer_that_is_hard_to_write_ends_no_class(class_of, answer):
    out = class_of(ada="Because.", raw=answer)
    assert report_in(out, "ada.py").score == 1
    assert by_id(report_in(out, "raw.py"))["why"].status == "review"
