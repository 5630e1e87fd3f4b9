"""A class at a glance, and two gradings beside each other."""

import io
import json
from decimal import Decimal

import pytest
from rich.console import Console

from grader.batch import find_submissions, grade_class, mark_in_class
from grader.batch.comparison import compare
from grader.batch.statistics import Statistics, class_statistics
from grader.batch.terminal import print_comparison, print_statistics
from grader.errors import InputError
from tests.batch.little import RUBRIC, Canned, make_little, written

CLASS = {
    "full": "# points: 1.5",
    "also": "# points: 1.5\n# seconds: 9",
    "part": "# points: 1\n# misconception: scale-missing",
    "none": "# points: 0\n# misconception: scale-missing",
    "mask": "# points: 0\n# misconception: mask-inverted",
    "late": "# points: 0\n# status: timed_out",
    "look": "# points: 1\n# status: review",
}


@pytest.fixture
def little(tmp_path):
    return make_little(tmp_path / "assignments" / "little")


def graded(tmp_path, little, texts, out="out", name="class"):
    folder = written(tmp_path / name, **texts)
    (folder / "empty").mkdir(exist_ok=True)
    grade_class(find_submissions([folder]), little, tmp_path / out, Canned(little))
    return tmp_path / out


def printed(found):
    text = io.StringIO()
    print_statistics(found, Console(file=text, width=120))
    return text.getvalue()


def test_the_figures_of_a_class_are_right(tmp_path, little):
    found = class_statistics(graded(tmp_path, little, CLASS))
    assert (found.submissions, found.graded, found.refused_count) == (8, 7, 1)
    assert (found.full_marks, found.code_is_right) == (2, 2)
    scores = [1.5, 1.5, 1, 0, 0, 0, 1]
    assert found.spread is not None
    assert found.spread.mean == pytest.approx(sum(scores) / 7)
    assert (found.spread.lowest, found.spread.median, found.spread.highest) == (0, 1, 1.5)
    assert (found.spread.lower_quartile, found.spread.upper_quartile) == (0, 1.25)
    counts = [each.count for each in found.distribution]
    assert (sum(counts), counts[0], counts[-1]) == (7, 3, 2)
    (milestone,) = found.milestones
    assert (milestone.full, milestone.max_score) == (2, Decimal("1.5"))
    checks = {check.id: check for check in found.checks}
    assert (checks["doubles"].lost, checks["doubles"].rate) == (3, 3 / 7)
    assert checks["doubles"].statuses == {"failed": 2, "timed_out": 1}
    assert (checks["doubles_zero"].lost, checks["doubles_zero"].unjudged) == (4, 1)
    assert checks["doubles_zero"].rate == 4 / 6
    assert found.checks[0].id == "doubles_zero"
    first, second = found.misconceptions
    assert (first.id, first.count, first.submissions) == (
        "scale-missing",
        2,
        ("none.py", "part.py"),
    )
    assert first.sentence == "The scores are not divided by √d_k."
    assert first.lesson == "Lesson 1, doubling"
    assert (second.id, second.count) == ("mask-inverted", 1)
    assert next((n.submission, n.what) for n in found.slowest) == ("also.py", "9.0 s")
    assert [n.submission for n in found.review] == ["look.py"]
    assert [n.submission for n in found.refused] == ["empty"]
    assert "holds no .py file" in found.refused[0].what


def test_a_class_is_printed_so_that_a_teacher_knows_what_to_explain(tmp_path, little):
    text = printed(class_statistics(graded(tmp_path, little, CLASS)))
    for said in (
        "8 submissions, 7 graded, 1 refused, 1 for a person to look at",
        "What to explain again",
        "scale-missing  2 (29%)",
        "The scores are not divided by √d_k.",
        "reread: Lesson 1, doubling",
        "none.py, part.py",
        "Where points were lost most often",
        "2 failed, 1 timed out",
        "1 not judged",
        "Refused: empty",
        "Slowest: also.py (9.0 s)",
    ):
        assert said in text, said


def test_statistics_travel_as_json(tmp_path, little):
    found = class_statistics(graded(tmp_path, little, CLASS))
    data = json.loads(found.to_json())
    assert data["schema"] == "transformer-grader/statistics/1"
    assert Statistics.model_validate_json(found.to_json()) == found


@pytest.mark.parametrize("texts", [{}, {"one": "# points: 1"}])
def test_the_smallest_classes_have_statistics(tmp_path, little, texts):
    found = class_statistics(graded(tmp_path, little, texts))
    assert found.graded == len(texts)
    assert "submissions" in printed(found)


def test_marks_count(tmp_path, little):
    out = graded(tmp_path, little, CLASS)
    mark_in_class(out, "none.py", "doubles", Decimal(1), "Right after all.")
    mark_in_class(out, "none.py", "doubles_zero", Decimal("0.5"), "")
    found = class_statistics(out)
    assert found.full_marks == 3
    assert found.spread is not None
    assert found.spread.mean == pytest.approx(6.5 / 7)


def test_a_folder_that_is_no_class_is_told(tmp_path):
    with pytest.raises(InputError, match="name the --out of a class"):
        class_statistics(tmp_path)
    assert list(tmp_path.iterdir()) == []


# two gradings


def changes(first, second):
    return {c.submission: c for c in compare(first, second) if c is not None}


def test_nothing_changed_between_a_grading_and_itself(tmp_path, little):
    out = graded(tmp_path, little, CLASS)
    found = list(compare(out, out))
    assert found == [None] * 8


def test_a_comparison_says_whose_grade_changed_and_why(tmp_path, little):
    first = graded(tmp_path, little, CLASS, "first")
    texts = {
        **CLASS,
        "none": "# points: 1.5",
        "mask": "# points: 0\n# misconception: scale-missing",
        "new": "# points: 1",
    }
    second = graded(tmp_path, little, texts, "second")
    mark_in_class(second, "look.py", "doubles_zero", Decimal("0.5"), "Good.")
    found = changes(first, second)
    assert set(found) == {"none.py", "look.py", "new.py"}
    none = found["none.py"]
    assert (none.before, none.after) == (0, Decimal("1.5"))
    assert none.causes == ("other code was handed in",)
    assert none.rows == (
        "doubles: failed (scale-missing) → passed",
        "doubles_zero: failed (scale-missing) → passed",
    )
    assert found["look.py"].causes == ("a person's marks",)
    assert found["look.py"].rows == ("doubles_zero: review → passed",)
    assert (found["new.py"].before, found["new.py"].after) == (None, 1)
    assert "only in" in found["new.py"].causes[0]
    assert set(changes(second, first)) == set(found)
    text = io.StringIO()
    console = Console(file=text, width=120)
    assert print_comparison(compare(first, second), console) == 3
    assert "none.py  0 → 1.5  other code was handed in" in text.getvalue()
    assert "3 of 9 grades changed." in text.getvalue()


def test_what_changed_besides_the_code_is_told(tmp_path, little, monkeypatch):
    first = graded(tmp_path, little, {"a": "# points: 1"}, "first")
    little = make_little(little.folder, rubric=RUBRIC.replace("points = 0.5", "points = 2"))
    monkeypatch.setattr("grader.batch.fingerprint.grader_version", lambda: "9.9")
    folder = written(tmp_path / "class")
    grade_class(find_submissions([folder]), little, tmp_path / "second", Canned(little), "secret")
    (change,) = changes(first, tmp_path / "second").values()
    assert change.causes[0] == "the assignment changed"
    assert change.causes[1].startswith("the grader changed, from ")
    assert change.causes[1].endswith(" to 9.9")
    assert change.causes[2] == "inputs were drawn from another secret"


def test_gradings_of_two_assignments_are_not_compared(tmp_path, little):
    first = graded(tmp_path, little, CLASS, "first")
    rubric = RUBRIC.replace('id = "little"', 'id = "other"')
    other = make_little(tmp_path / "assignments" / "other", rubric=rubric)
    second = graded(tmp_path, other, CLASS, "second")
    with pytest.raises(InputError, match="two gradings of one assignment"):
        list(compare(first, second))
