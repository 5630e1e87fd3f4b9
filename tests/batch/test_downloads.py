"""Downloads of a course site: a submission for each student, whose it is, and what was left out."""

import csv
import os
import zipfile

import pytest

from grader.batch import find_submissions, grade_class, load_report, read_class
from grader.batch.here import Here
from grader.batch.roster import Roster
from grader.batch.submissions import survey
from grader.intake import Reading

MOODLE = {
    "Student One_1001_assignsubmission_file/a.py": "x",
    "Student Two_1002_assignsubmission_file/work.zip": "x",
    "Student Three_1003_assignsubmission_onlinetext/onlinetext.html": "x",
}
CANVAS = {
    "oneone_11_901_model.py": "x",
    "oneone_11_902_layers.py": "x",
    "twotwo_LATE_12_903_model.py": "x",
    "threethree_13_904_model.py": "x",
    "threethree_13_955_model-1.py": "x",
}
GRADESCOPE = {
    "submission_71/a.py": "x",
    "submission_72/a.py": "x",
    "submission_metadata.yml": "submission_71:\n  :submitters:\n  - :sid: s1\n  :created_at: 2026-10-01\n"
    "submission_72:\n  :submitters:\n  - :sid: s1\n  :created_at: 2026-10-02\n",
}
GITHUB = {f"mask-{user}/{name}": "x" for user in ("ada-l", "bob") for name in (".git/HEAD", "a.py")}


def written(folder, files):
    for name, text in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text)
    return folder


@pytest.mark.parametrize("packed", [False, True])
@pytest.mark.parametrize(
    ("files", "students", "earlier", "others"),
    [
        (MOODLE, ["1001", "1002"], [], 1),
        (CANVAS, ["11", "12", "13"], ["13"], 0),
        (GRADESCOPE, ["s1"], ["s1"], 0),
        (GITHUB, ["ada-l", "bob"], [], 0),
    ],
)
def test_a_download_holds_a_submission_for_each_student(
    tmp_path, packed, files, students, earlier, others
):
    folder = written(tmp_path / "download", files)
    if packed:
        with zipfile.ZipFile(tmp_path / "download.zip", "w") as archive:
            for name in files:
                archive.write(folder / name, name)
        folder = tmp_path / "download.zip"
    with Reading() as reading:
        hand = survey([folder], reading)
    assert [found.student for found in hand.found] == students
    assert [found.id for found in hand.found] == students
    assert (hand.earlier, hand.others) == (earlier, others)


def test_late_and_several_files_of_a_student(tmp_path):
    written(tmp_path, CANVAS)
    one, two, three = find_submissions([tmp_path])
    assert one.inside == {
        "layers.py": "oneone_11_902_layers.py",
        "model.py": "oneone_11_901_model.py",
    }
    assert (one.late, two.late) == (False, True)
    assert three.inside == {"model.py": "threethree_13_955_model-1.py"}


def test_a_checkout_is_one_submission_and_an_ordinary_folder_is_a_class(tmp_path):
    written(tmp_path / "repo", {".git/HEAD": "x", "a.py": "x", "b.py": "x"})
    written(
        tmp_path / "class", {"a.py": "x", "b.ipynb": "x", "c.zip": "x", "d/e.py": "x", "f.pdf": ""}
    )
    assert [f.id for f in find_submissions([tmp_path / "repo"])] == ["repo"]
    assert [f.id for f in find_submissions([tmp_path / "class"])] == [
        "a.py",
        "b.ipynb",
        "c.zip",
        "d",
    ]


def test_two_downloads_with_the_same_students_overwrite_nothing(tmp_path):
    for name in ("one", "two"):
        written(tmp_path / name, MOODLE)
    found = find_submissions([tmp_path / "one", tmp_path / "two"])
    assert [f.id for f in found] == ["1001", "1002", "1001-2", "1002-2"]
    assert [f.student for f in found] == ["1001", "1002", "1001", "1002"]


def test_names_of_every_kind_get_reports_of_their_own(tmp_path, launcher, assignment):
    names = [
        "a b.py",
        "a_b.py",
        "a[b].py",
        "ä.py",
        "=x.py",
        "A_B.PY",
        "\x1b[31m.py",
        "x" * 200 + ".py",
        "\u202e.py",
    ]
    for name in names:
        (tmp_path / name).write_text("x = 1")
    (tmp_path / os.fsdecode(b"\xff.py")).write_text("x = 1")
    found = find_submissions([tmp_path])
    assert len({f.id.casefold() for f in found}) == len(names) + 1
    assert all(f.id.isprintable() and "/" not in f.id for f in found)
    out = tmp_path / "out"
    grade_class(found, assignment, out, Here(assignment, launcher))
    assert len(list((out / "reports").iterdir())) == len(names) + 1


def test_a_roster_joins_a_download(tmp_path, launcher, assignment, right):
    files = {**MOODLE, "Student One_1001_assignsubmission_file/a.py": right}
    written(tmp_path / "in", files)
    roster = Roster.parse("Identifier,Full name,ID number\nParticipant 1001,Student One,s1\n", "r")
    out = tmp_path / "out"
    found = find_submissions([tmp_path / "in"])
    grade_class(found, assignment, out, Here(assignment, launcher), roster=roster)
    rows = list(read_class(out))
    assert [row.handed.student for row in rows] == ["s1", "1002"]
    with open(out / "gradebook.csv", newline="") as file:
        book = list(csv.DictReader(file))
    assert [line["student"] for line in book] == ["s1", "1002"]
    assert rows[0].summary.code_is_right
    assert rows[1].summary.status == "refused"
    assert "Student" not in (out / "reports" / "1002.json").read_text()


def test_a_roster_finds_files_that_are_named_like_an_id(tmp_path, launcher, assignment):
    written(tmp_path / "in", {"s1.py": "x = 1", "other.py": "x = 1"})
    roster = Roster.parse("Username\ns1\ns2\n", "r")
    found, out = find_submissions([tmp_path / "in"]), tmp_path / "out"
    grade_class(found, assignment, out, Here(assignment, launcher), roster=roster)
    assert {row.id: row.handed.student for row in read_class(out)} == {
        "other.py": "",
        "s1.py": "s1",
    }


def test_no_name_of_a_student_stands_in_a_report_of_a_download(tmp_path, launcher, assignment):
    files = {f"Student {n}_100{n}_assignsubmission_file/essay.docx": "x" for n in (1, 2)}
    written(tmp_path / "in", files)
    out = tmp_path / "out"
    grade_class(find_submissions([tmp_path / "in"]), assignment, out, Here(assignment, launcher))
    rows = list(read_class(out))
    assert [row.summary.status for row in rows] == ["refused", "refused"]
    assert [row.handed.file for row in rows] == [name.partition("/")[0] for name in files]
    for row in rows:
        report = load_report(out / "reports" / f"{row.id}.json")
        assert "Student" not in report.to_json()
        assert "holds no .py file" in report.findings[0].message
