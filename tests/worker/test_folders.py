"""A worker's folder: how much is in it, and away with it, whatever student code made there."""

import os

import pytest

from grader.worker import folders
from grader.worker.folders import overflows, remove

pytestmark = pytest.mark.skipif(os.name != "posix", reason="needs POSIX")


def deep(folder, depth):
    """Folders in folders, deeper than any path may be long."""
    before = os.getcwd()
    os.chdir(folder)
    try:
        for _ in range(depth):
            os.mkdir("d" * 50)
            os.chdir("d" * 50)
        with open("file", "w") as file:
            file.write("x")
    finally:
        os.chdir(before)


def test_a_folder_of_any_depth_goes_away(tmp_path):
    deep(tmp_path, 2_000)
    assert overflows(str(tmp_path))  # its paths are too long to be looked at
    remove(str(tmp_path))
    assert not tmp_path.exists()


def test_links_are_not_followed(tmp_path):
    outside, inside = tmp_path / "outside", tmp_path / "inside"
    outside.mkdir()
    (outside / "kept").write_text("x")
    inside.mkdir()
    (inside / "folder").symlink_to(outside)
    (inside / "file").symlink_to(outside / "kept")
    (inside / "loop").symlink_to(inside)
    assert not overflows(str(inside))
    remove(str(inside))
    assert not inside.exists()
    assert (outside / "kept").read_text() == "x"


def test_folders_that_may_not_be_entered_go_away(tmp_path):
    folder = tmp_path / "a"
    (folder / "b" / "c").mkdir(parents=True)
    (folder / "b" / "c" / "file").write_text("x")
    (folder / "b" / "c").chmod(0)
    (folder / "b").chmod(0)
    remove(str(folder))
    assert not folder.exists()


def test_what_is_not_there_is_no_error(tmp_path):
    remove(str(tmp_path / "nothing"))
    assert not overflows(str(tmp_path / "nothing"))


def test_a_name_that_a_moved_folder_could_get_is_no_trap(tmp_path):
    folder = tmp_path / "a"
    for name in ("x", "y"):
        (folder / name / name / name).mkdir(parents=True)
        (folder / name / name / name / "file").write_text("x")
    remove(str(folder))
    assert not folder.exists()


@pytest.mark.parametrize("fill", ["bytes", "files"])
def test_too_much_is_told(tmp_path, monkeypatch, fill):
    monkeypatch.setattr(folders, "MAX_BYTES", 100_000)
    monkeypatch.setattr(folders, "MAX_FILES", 20)
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "small").write_bytes(b"x")
    assert not overflows(str(tmp_path))
    if fill == "bytes":
        (tmp_path / "a" / "large").write_bytes(b"x" * 200_000)
    else:
        for number in range(30):
            (tmp_path / "a" / str(number)).touch()
    assert overflows(str(tmp_path))


def test_files_without_a_name_count_while_they_are_open(tmp_path, monkeypatch):
    if not os.path.isdir("/proc/self/fd"):
        pytest.skip("needs /proc")
    monkeypatch.setattr(folders, "MAX_BYTES", 100_000)
    with open(tmp_path / "file", "wb") as file:
        file.write(b"x" * 200_000)
        file.flush()
        assert not folders.holds_unlinked(os.getpid())
        os.unlink(tmp_path / "file")
        assert folders.holds_unlinked(os.getpid())
    assert not folders.holds_unlinked(os.getpid())
