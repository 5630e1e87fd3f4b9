"""A class: which submissions there are, and that every one gets its report."""

import csv

import pytest

from grader.batch import Watcher, find_submissions, grade_class, read_class
from grader.batch.here import Here
from grader.batch.submissions import survey
from grader.errors import InputError
from grader.intake import Reading, gather
from grader.report import read_report


def test_a_folders_children_are_the_submissions(tmp_path):
    for name in ("a.py", "b.ipynb", "c/x.py", "notes.txt", ".hidden.py", "__pycache__/d.py"):
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("")
    assert [f.id for f in find_submissions([tmp_path])] == ["a.py", "b.ipynb", "c"]


def test_submissions_of_the_same_name_get_ids_of_their_own(tmp_path):
    for folder in ("one", "two", "three"):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / "A.py").write_text("")
    (tmp_path / "three" / "A.py").rename(tmp_path / "three" / "a.py")
    found = find_submissions([tmp_path / "one", tmp_path / "two", tmp_path / "three"])
    assert len({f.id.casefold() for f in found}) == 3


def test_names_are_fit_for_files(tmp_path):
    (tmp_path / "a b (1)[x]é;$.py").write_text("")
    (found,) = find_submissions([tmp_path])
    assert found.id == "a_b_1_x_é_.py"


@pytest.mark.parametrize("make", [lambda p: p / "missing", lambda p: p])
def test_a_path_without_a_submission_is_one_that_is_refused(tmp_path, make):
    (found,) = find_submissions([make(tmp_path)])
    with pytest.raises(InputError):
        gather(found.path)


def test_the_folder_of_the_reports_is_no_submission(tmp_path):
    (tmp_path / "a.py").write_text("")
    (tmp_path / "out").mkdir()
    assert [f.id for f in find_submissions([tmp_path], tmp_path / "out")] == ["a.py"]


def test_what_is_left_out_of_a_folder_is_told(tmp_path):
    for name in ("a.py", "essay.docx", ".hidden"):
        (tmp_path / name).write_text("")
    with Reading() as reading:
        assert survey([tmp_path], reading).ignored == ["essay.docx"]


def test_a_name_that_is_too_long_for_a_report_is_cut(tmp_path):
    (tmp_path / ("x" * 240 + ".py")).write_text("")
    (found,) = find_submissions([tmp_path])
    assert len(found.id) <= 100


class Seen(Watcher):
    def __init__(self):
        self.rows = []

    def finished(self, row):
        self.rows.append(row)


def test_every_submission_gets_a_report_whatever_it_is(tmp_path, launcher, assignment, right):
    inputs = {
        "right.py": right,
        "syntax.py": "def f(:",
        "empty.py": "",
        "notebook.ipynb": "no json",
        "exits.py": right + "import os\nclass Config:\n    path = os._exit(0)\n",
        "=cmd.py": right.replace("scores / math.sqrt(query.shape[-1])", "scores"),
    }
    folder, out = tmp_path / "class", tmp_path / "out"
    folder.mkdir()
    for name, text in inputs.items():
        (folder / name).write_text(text)
    (folder / "nothing").mkdir()
    seen = Seen()
    found = find_submissions([folder])
    count = grade_class(found, assignment, out, Here(assignment, launcher), watcher=seen)
    assert (count.graded, count.kept, count.refused, count.errors) == (len(found), 0, 3, 0)
    assert {row.id: row.summary for row in seen.rows} == {
        row.id: row.summary for row in read_class(out)
    }
    reports = {p.name: read_report(p.read_text()) for p in (out / "reports").iterdir()}
    assert len(reports) == len(inputs) + 1
    assert reports["right.py.json"].code_is_right
    assert {name for name, report in reports.items() if report.status == "refused"} == {
        "syntax.py.json",
        "notebook.ipynb.json",
        "nothing.json",
    }
    assert reports["exits.py.json"].score == 0
    assert "crashed" in {c.status for c in reports["exits.py.json"].checks()}
    assert reports["empty.py.json"].status == "graded"
    with open(out / "gradebook.csv", newline="") as file:
        book = {line["submission"]: line for line in csv.DictReader(file)}
    assert book["right.py"]["score"] == "10"
    assert book["right.py"]["questions"] == "0"
    assert book["_cmd.py"]["misconceptions"].startswith("scale-missing")
    assert book["_cmd.py"]["file"] == "'=cmd.py"
    assert not any(cell.startswith("=") for line in book.values() for cell in line.values())


def test_links_in_a_folder_are_left_out_and_told(tmp_path):
    folder = tmp_path / "class"
    folder.mkdir()
    (folder / "a.py").write_text("")
    (folder / "link.py").symlink_to(folder / "a.py")
    (folder / "passwd.py").symlink_to("/etc/passwd")
    (folder / "self").symlink_to(folder)
    (folder / "gone.py").symlink_to(tmp_path / "gone")
    with Reading() as reading:
        hand = survey([folder], reading)
    assert [f.id for f in hand.found] == ["a.py"]
    assert hand.links == ["gone.py", "link.py", "passwd.py", "self"]


def test_a_link_that_is_named_has_its_own_name(tmp_path):
    (tmp_path / "a.py").write_text("x = 1")
    (tmp_path / "link.py").symlink_to(tmp_path / "a.py")
    (found,) = find_submissions([tmp_path / "link.py"])
    assert found.id == "link.py"
