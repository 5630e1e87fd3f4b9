"""What is finished is kept and never graded twice; what has changed is graded again."""

import csv
import dataclasses
import os
import shutil
import sqlite3
import sys
import tempfile
import traceback
from decimal import Decimal
from pathlib import Path

import pytest

from grader.batch import find_submissions, grade_class, load_report, mark_in_class, read_class
from grader.batch.folder import GRADEBOOK, LOCK, STORE, alone_in, report_file
from grader.batch.store import Store
from grader.errors import InputError
from tests.batch.little import RIGHT, RUBRIC, TESTS, WRONG, Canned, Heard, make_little, written


@pytest.fixture
def little(tmp_path):
    return make_little(tmp_path / "assignments" / "little")


@pytest.fixture
def folder(tmp_path):
    return written(tmp_path / "class", ada=f"# points: 1.5\n{RIGHT}", bob=WRONG, cem=WRONG)


def graded(folder, assignment, out, secret="", **options):
    """Grade a class; returns how many, and the ids of those that were graded now."""
    executor = Canned(assignment)
    count = grade_class(find_submissions([folder]), assignment, out, executor, secret, **options)
    return count, executor.seen


def histories(out):
    with Store(out) as store:
        return {kept.handed.id: len(store.history(kept.handed.id)) for kept in store.latest()}


def texts(out):
    return {path.name: path.read_bytes() for path in (out / "reports").iterdir()}


def test_what_is_unchanged_is_not_graded_again(tmp_path, folder, little):
    out = tmp_path / "out"
    count, seen = graded(folder, little, out)
    assert (count.graded, count.kept, seen) == (3, 0, ["ada.py", "bob.py", "cem.py"])
    before = texts(out), (out / GRADEBOOK).read_bytes()
    heard = Heard()
    count, seen = graded(folder, little, out, watcher=heard)
    assert (count.graded, count.kept, seen, heard.started) == (0, 3, [], [])
    assert [(row.id, row.is_new) for row in heard.rows] == [
        ("ada.py", False), ("bob.py", False), ("cem.py", False),
    ]  # fmt: skip
    assert (texts(out), (out / GRADEBOOK).read_bytes()) == before
    assert set(histories(out).values()) == {1}


def test_a_changed_submission_is_graded_again_and_its_history_stays(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    written(folder, bob=f"# points: 1\n{RIGHT}", new=RIGHT)
    count, seen = graded(folder, little, out)
    assert seen == ["bob.py", "new.py"]
    assert (count.graded, count.kept) == (2, 2)
    assert histories(out) == {"ada.py": 1, "bob.py": 2, "cem.py": 1, "new.py": 1}
    assert load_report(report_file(out, "bob.py")).score == 1
    with Store(out) as store:
        assert [score for _, _, score in store.history("bob.py")] == ["0", "1"]


@pytest.mark.parametrize("what", ["test", "rubric", "secret", "grader"])
def test_all_is_graded_again_when_what_it_hangs_on_changes(
    tmp_path, folder, little, monkeypatch, what
):
    out, secret = tmp_path / "out", ""
    graded(folder, little, out)
    if what == "test":
        make_little(little.folder, tests=TESTS + "# another line\n")
    elif what == "rubric":
        little = make_little(little.folder, rubric=RUBRIC.replace("points = 0.5", "points = 2"))
    elif what == "secret":
        secret = "another"
    else:
        monkeypatch.setattr("grader.batch.fingerprint.grader_version", lambda: "another")
    count, seen = graded(folder, little, out, secret)
    assert (count.graded, count.kept, len(seen)) == (3, 0, 3)
    assert graded(folder, little, out, secret)[1] == []
    assert set(histories(out).values()) == {2}


def test_regrade_grades_all_and_keeps_marks(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    mark_in_class(out, "bob.py", "doubles", Decimal("0.25"), "Nearly.")
    count, seen = graded(folder, little, out, regrade=True)
    assert (count.graded, len(seen)) == (3, 3)
    report = load_report(report_file(out, "bob.py"))
    assert report.score == Decimal("0.25")
    assert report.checks()[0].message == "Marked by a person: Nearly."
    assert {row.id: row.summary.score for row in read_class(out)}["bob.py"] == Decimal("0.25")
    count, seen = graded(folder, little, out)
    assert (count.kept, seen) == (3, [])
    assert load_report(report_file(out, "bob.py")) == report


def test_a_run_that_ends_in_the_middle_goes_on_from_there(tmp_path, folder, little):
    out = tmp_path / "out"

    class Ends(Canned):
        def result(self, task):
            if len(self.seen) == 2:
                raise KeyboardInterrupt
            return super().result(task)

    with pytest.raises(KeyboardInterrupt):
        grade_class(find_submissions([folder]), little, out, Ends(little))
    assert [row.id for row in read_class(out)] == ["ada.py"]
    with open(out / GRADEBOOK, newline="") as file:
        assert [line["submission"] for line in csv.DictReader(file)] == ["ada.py"]
    count, seen = graded(folder, little, out)
    assert (count.kept, seen) == (1, ["bob.py", "cem.py"])
    assert set(histories(out).values()) == {1}


@pytest.mark.parametrize("loss", ["missing", "cut", "older", "all"])
def test_reports_that_were_lost_are_made_from_the_store(tmp_path, folder, little, loss):
    out = tmp_path / "out"
    graded(folder, little, out)
    mark_in_class(out, "bob.py", "doubles", Decimal("0.25"), "Nearly.")
    before = texts(out)
    file = report_file(out, "bob.py")
    if loss == "missing":
        file.unlink()
    elif loss == "cut":
        file.write_bytes(file.read_bytes()[:100])
    elif loss == "older":
        file.write_bytes(report_file(out, "cem.py").read_bytes())
    else:
        shutil.rmtree(out / "reports")
        (out / GRADEBOOK).unlink()
    assert graded(folder, little, out)[1] == []
    assert texts(out) == before
    with open(out / GRADEBOOK, newline="") as lines:
        assert {line["submission"]: line["score"] for line in csv.DictReader(lines)}[
            "bob.py"
        ] == "0.25"


def test_what_cannot_be_read_is_refused_once(tmp_path, little):
    folder, out = written(tmp_path / "class", ada=RIGHT), tmp_path / "out"
    (folder / "empty").mkdir()
    count, _ = graded(folder, little, out)
    assert (count.graded, count.refused) == (2, 1)
    count, seen = graded(folder, little, out)
    assert (count.kept, count.refused, seen) == (2, 1, [])
    assert histories(out) == {"ada.py": 1, "empty": 1}
    (folder / "empty" / "m.py").write_text(RIGHT)
    count, seen = graded(folder, little, out)
    assert (count.refused, seen) == (0, ["empty"])


def test_what_the_grader_failed_at_is_tried_again(tmp_path, folder, little):
    out = tmp_path / "out"

    class Fails(Canned):
        def result(self, task):
            result = super().result(task)
            if task.id == "bob.py":
                return dataclasses.replace(result, report=None, fault="a lane ended", tries=2)
            if task.id == "cem.py":
                return dataclasses.replace(result, report='{"no": "report"}')
            return result

    count = grade_class(find_submissions([folder]), little, out, Fails(little))
    assert (count.graded, count.errors) == (3, 2)
    report = load_report(report_file(out, "bob.py"))
    assert report.status == "error"
    assert {row.status for row in report.checks()} == {"review"}
    assert "a lane ended" in report.findings[0].message
    count, seen = graded(folder, little, out)
    assert (count.kept, count.errors, seen) == (1, 0, ["bob.py", "cem.py"])


def test_a_report_of_another_submission_is_no_report(tmp_path, folder, little):
    class Swaps(Canned):
        def result(self, task):
            return super().result(dataclasses.replace(task, id="ada.py"))

        def run(self, tasks, watcher):
            for result, task in ((self.result(task), task) for task in tasks):
                yield dataclasses.replace(result, task=task)

    count = grade_class(find_submissions([folder]), little, tmp_path / "out", Swaps(little))
    assert (count.graded, count.errors) == (3, 2)


def test_a_late_submission_joins_the_class(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    late = written(tmp_path / "late", dan=RIGHT)
    count, seen = graded(late, little, out)
    assert (count.graded, count.kept, seen) == (1, 0, ["dan.py"])
    with open(out / GRADEBOOK, newline="") as file:
        names = [line["submission"] for line in csv.DictReader(file)]
    assert names == ["dan.py", "ada.py", "bob.py", "cem.py"]  # those of the run come first


def test_gradings_are_never_changed_nor_removed(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    with sqlite3.connect(out / STORE) as connection:
        for statement in ("DELETE FROM gradings", "UPDATE gradings SET score = '9'"):
            with pytest.raises(sqlite3.IntegrityError, match="never"):
                connection.execute(statement)
    connection.close()


# bad input


def told(folder, assignment, out):
    """The sentence with which a run is refused; nothing in the folder changes."""

    def state():
        return {p: p.read_bytes() for p in out.rglob("*") if p.is_file() and p.name != LOCK}

    before = state()
    with pytest.raises(InputError) as error:
        graded(folder, assignment, out)
    assert state() == before
    assert str(error.value).count("\n") == 0
    return str(error.value)


def test_results_of_another_assignment_are_not_overwritten(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    rubric = RUBRIC.replace('id = "little"', 'id = "other"')
    other = make_little(tmp_path / "assignments" / "other", rubric=rubric)
    assert "holds results of little, not of other: name another --out" in told(folder, other, out)


@pytest.mark.parametrize("damage", ["no database", "cut", "overwritten", "empty table"])
def test_a_damaged_store_is_told_and_left_alone(tmp_path, folder, little, damage):
    out = tmp_path / "out"
    graded(folder, little, out)
    path = out / STORE
    data = path.read_bytes()
    if damage == "no database":
        path.write_bytes(b"submission,score\n" * 200)
    elif damage == "cut":
        path.write_bytes(data[: len(data) // 2])
    elif damage == "overwritten":
        path.write_bytes(data[:1024] + b"\xff" * (len(data) - 1024))
    else:
        with sqlite3.connect(path) as connection:
            connection.execute("DELETE FROM about")
        connection.close()
        connection = None
    with pytest.raises(InputError) as error:
        list(read_class(out))
    assert str(path) in str(error.value)
    if damage != "empty table":
        assert "damaged" in told(folder, little, out)


def test_reports_without_a_store_are_not_overwritten(tmp_path, folder, little):
    out = tmp_path / "out"
    (out / "reports").mkdir(parents=True)
    (out / "reports" / "ada.py.json").write_text("somebody's")
    assert "name another --out" in told(folder, little, out)
    shutil.rmtree(out / "reports")
    (out / GRADEBOOK).write_text("name,grade\n")
    assert "name another --out" in told(folder, little, out)


def test_a_folder_of_other_things_may_take_a_class(tmp_path, folder, little):
    out = tmp_path / "out"
    out.mkdir()
    (out / "notes.txt").write_text("mine")
    assert graded(folder, little, out)[0].graded == 3
    assert (out / "notes.txt").read_text() == "mine"


def test_two_runs_at_once_are_refused(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    with alone_in(out):
        assert "Another run" in told(folder, little, out)
        with pytest.raises(InputError, match="Another run"):
            mark_in_class(out, "bob.py", "doubles", Decimal(1), "")
        assert len(list(read_class(out))) == 3  # looking is allowed
    assert graded(folder, little, out)[0].kept == 3


def test_a_store_that_another_program_holds_is_told(tmp_path, folder, little, monkeypatch):
    out = tmp_path / "out"
    graded(folder, little, out)
    monkeypatch.setattr("grader.batch.store.WAIT_SECONDS", 0.1)
    connection = sqlite3.connect(out / STORE, isolation_level=None)
    connection.execute("BEGIN IMMEDIATE")
    assert "in use by another program" in told(folder, little, out)
    connection.execute("ROLLBACK")
    connection.close()


@pytest.mark.skipif(os.name != "posix", reason="needs users")
def test_a_read_only_folder_is_told(folder, little):
    from grader.intake import reading  # noqa: F401 (as another user nothing can be imported)

    with tempfile.TemporaryDirectory() as name:
        os.chmod(name, 0o755)
        out = Path(name) / "out"
        graded(folder, little, out)
        for path in (out / STORE, out / LOCK, out):
            path.chmod(0o555 if path.is_dir() else 0o444)
        pid = os.fork()
        if pid == 0:
            code = 1
            try:
                if os.geteuid() == 0:  # who may write anywhere
                    os.setgroups([])
                    os.setgid(65534)
                    os.setuid(65534)
                with pytest.raises(InputError, match="cannot be written"):
                    grade_class([], little, out, Canned(little))
                with pytest.raises(InputError, match="cannot be made a folder"):
                    grade_class([], little, out / "below", Canned(little))
                assert len(list(read_class(out))) == 3
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                sys.stderr.flush()
                os._exit(code)
        assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0
        out.chmod(0o700)


def test_a_full_disk_stops_a_run_with_a_sentence_and_keeps_what_is_finished(
    tmp_path, folder, little, monkeypatch
):
    out = tmp_path / "out"
    real = Store.add

    def add(store, grading):
        if grading.handed.id == "bob.py":  # SQLite's own error for it
            store._connection.execute("PRAGMA max_page_count = 1")
            grading = dataclasses.replace(grading, report=grading.report * 500)
        real(store, grading)

    monkeypatch.setattr(Store, "add", add)
    with pytest.raises(InputError, match="no room left"):
        graded(folder, little, out)
    monkeypatch.setattr(Store, "add", real)
    count, seen = graded(folder, little, out)
    assert (count.kept, seen) == (1, ["bob.py", "cem.py"])


# which submission is which


def marked_by_folder(out):
    return {row.handed.origin: (row.id, row.summary.score) for row in read_class(out)}


@pytest.mark.parametrize("odd", ["", "\udcff"])  # a byte that is no character, as names may have
def test_an_id_stays_with_its_submission_whatever_else_is_called_the_same(tmp_path, little, odd):
    first = written(tmp_path / f"a{odd}", hw=WRONG)
    second = written(tmp_path / f"b{odd}", hw=WRONG + "# 2\n")
    out = tmp_path / "out"

    def grade(*folders):
        grade_class(find_submissions(list(folders)), little, out, Canned(little))

    grade(first, second)
    mark_in_class(out, "hw.py", "doubles", Decimal(1), "Hers.")
    before = marked_by_folder(out)
    shown = odd and "\\udcff"
    assert before == {f"a{shown}/hw.py": ("hw.py", 1), f"b{shown}/hw.py": ("hw.py-2", 0)}
    for folders in ((second, first), (second,), (first,), (first, second)):
        grade(*folders)
        assert marked_by_folder(out) == before, folders
    assert set(histories(out).values()) == {1}


def test_submissions_of_the_same_folders_name_keep_ids_of_their_own(tmp_path, little):
    folders = [written(tmp_path / f"{n}" / "class", hw=f"{WRONG}# {n}\n") for n in range(12)]
    out = tmp_path / "out"
    for grading in range(3):
        executor = Canned(little)
        grade_class(find_submissions(folders), little, out, executor)
        ids = [row.id for row in read_class(out)]
        assert ids == ["hw.py", *(f"hw.py-{n}" for n in range(2, 13))]
        assert executor.seen == ([] if grading else ids)


def test_a_newcomer_takes_no_id_that_somebody_has(tmp_path, little):
    folder, out = written(tmp_path / "class", a_b=WRONG), tmp_path / "out"
    graded(folder, little, out)
    mark_in_class(out, "a_b.py", "doubles", Decimal(1), "Hers.")
    (folder / "a b.py").write_text(WRONG + "# another\n")
    graded(folder, little, out)
    assert marked_by_folder(out) == {
        "class/a_b.py": ("a_b.py", 1),
        "class/a b.py": ("a_b.py-2", 0),
    }


def test_a_class_in_another_folder_is_the_same_class(tmp_path, little):
    folder, out = written(tmp_path / "class", ada=RIGHT, bob=WRONG), tmp_path / "out"
    graded(folder, little, out)
    folder.rename(tmp_path / "moved")
    count, seen = graded(tmp_path / "moved", little, out)
    assert (count.kept, seen) == (2, [])
    assert len(list(read_class(out))) == 2


def test_what_is_not_there_is_no_member_of_the_class(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    (tmp_path / "empty").mkdir()
    for path in (tmp_path / "typo", tmp_path / "empty"):
        found = find_submissions([path])
        count = grade_class(found, little, out, Canned(little))
        assert count.refused == 1
        assert load_report(report_file(out, path.name)).status == "refused"
    assert {row.id for row in read_class(out)} == {"ada.py", "bob.py", "cem.py"}


def test_results_among_submissions_are_none(tmp_path, folder, little):
    graded(folder, little, folder / "results")
    assert [f.id for f in find_submissions([folder])] == ["ada.py", "bob.py", "cem.py"]
    graded(folder, little, folder)
    assert [f.id for f in find_submissions([folder])] == ["ada.py", "bob.py", "cem.py"]


def test_an_empty_store_beside_reports_is_not_taken_for_a_new_one(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    (out / STORE).write_bytes(b"")
    assert "name another --out" in told(folder, little, out)


def test_a_store_whose_contents_are_damaged_is_told(tmp_path, folder, little):
    out = tmp_path / "out"
    graded(folder, little, out)
    data = (out / STORE).read_bytes()
    for what in (b'"milestones":{', b'"schema": '):
        (out / STORE).write_bytes(data.replace(what, b"\xc3\x28" * (len(what) // 2)))
        with pytest.raises(InputError, match="damaged"):
            mark_in_class(out, "ada.py", "doubles", Decimal(1), "")
    (out / STORE).write_bytes(data)
    assert graded(folder, little, out)[1] == []


def test_a_mark_finds_its_submission_by_the_gradebooks_cell(tmp_path, little):
    folder, out = tmp_path / "class", tmp_path / "out"
    folder.mkdir()
    (folder / "-rf.py").write_text(WRONG)
    graded(folder, little, out)
    with open(out / GRADEBOOK, newline="") as file:
        (line,) = csv.DictReader(file)
    assert line["submission"] == "'-rf.py"
    assert mark_in_class(out, line["submission"], "doubles", Decimal(1), "").score == 1
