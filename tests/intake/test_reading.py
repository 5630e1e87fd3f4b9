"""Reading in a process of its own: the same as reading here, and no file can stop it."""

import io
import time
import zipfile

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import InputError
from grader.intake import Reading, gather, read, reading
from tests.intake.test_reader import notebook


@pytest.fixture(scope="module")
def apart():
    with Reading() as apart:
        yield apart


def test_it_reads_what_reading_here_does(apart, tmp_path):
    (tmp_path / "a.py").write_bytes(b"def f(): ...\n")
    (tmp_path / "b.ipynb").write_bytes(notebook("!ls\nx = 1", "def g(:", "%%writefile c.py\ny = 1"))
    (tmp_path / "d.py").write_bytes(b"def\n")
    there = apart.read(tmp_path, "s")
    assert there == read(gather(tmp_path), "s")
    assert there == apart.read(gather(tmp_path), "s")


def test_a_refusal_names_place_and_path_as_they_were_given(apart, tmp_path, monkeypatch):
    (tmp_path / "a.py").write_text("x = 1\ndef f(:\n")
    with pytest.raises(InputError) as info:
        apart.read(tmp_path / "a.py", "a.py")
    assert (info.value.file, info.value.line) == ("a.py", 2)
    (tmp_path / "empty").mkdir()
    monkeypatch.chdir(tmp_path)
    relative = (tmp_path / "empty").relative_to(tmp_path)
    with pytest.raises(InputError, match=r"^The folder empty holds no"):
        apart.read(relative, "empty")


def test_what_takes_too_long_is_refused_and_the_next_one_is_read(monkeypatch):
    slow = {f"{i}.py": b"x = [" + b"1," * 900_000 + b"]" for i in range(9)}
    begun = time.monotonic()
    with Reading() as apart:
        with pytest.raises(InputError, match="takes more than"):
            apart.read(slow, "slow")
        assert list(apart.read({"a.py": b"x = 1\n"}, "a").sources) == ["a.py"]
    assert time.monotonic() - begun < 40


def test_a_process_that_does_not_answer_is_given_up(monkeypatch):
    monkeypatch.setattr(reading, "WALL_SECONDS", 0.01)
    with Reading() as apart, pytest.raises(InputError, match="takes more than"):
        apart.read({"a.py": b"x = [" + b"1," * 500_000 + b"]"}, "a")


def test_reading_can_begin_while_the_caller_does_other_things(apart):
    got = apart.begin({"a.py": b"x = 1\n"}, "a")
    assert list(got().sources) == ["a.py"]


def test_a_part_of_a_folder_or_an_archive_is_read_by_its_own_names(apart, tmp_path):
    folder = tmp_path / "all"
    (folder / "one").mkdir(parents=True)
    (folder / "one" / "a.py").write_text("x = 1\n")
    (folder / "two_b.py").write_text("y = 1\n")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        archive.writestr("c.py", "z = 1\n")
    (folder / "three.zip").write_bytes(packed.getvalue())
    with zipfile.ZipFile(tmp_path / "all.zip", "w") as archive:
        for path in sorted(folder.rglob("*")):
            archive.write(path, path.relative_to(folder))
    for where in (folder, tmp_path / "all.zip"):
        assert list(apart.read(where, "s", {"": "one"}).sources) == ["a.py"]
        assert list(apart.read(where, "s", {"b.py": "two_b.py"}).sources) == ["b.py"]
        assert list(apart.read(where, "s", {"work.zip": "three.zip"}).sources) == ["c.py"]
    assert apart.names(tmp_path / "all.zip") == ["one/a.py", "three.zip", "two_b.py"]


def test_what_a_module_imports_from_its_folder_belongs_to_it(apart, tmp_path):
    for name, text in {
        "model.py": "from layers import f\nimport tools.more\nfrom . import near\n",
        "layers.py": "import deep\n",
        "deep.py": "",
        "near.py": "",
        "tools/__init__.py": "",
        "tools/more.py": "",
        "other.py": "",
        "torch.txt": "",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    alone = apart.read(tmp_path / "model.py", "model.py")
    assert list(alone.sources) == ["model.py"]
    whole = apart.begin(tmp_path / "model.py", "model.py", neighbours=True)()
    assert list(whole.sources) == [
        "deep.py", "layers.py", "model.py", "near.py", "tools/__init__.py", "tools/more.py",
    ]  # fmt: skip


def test_whose_a_gradescope_export_is(apart, tmp_path):
    (tmp_path / "meta.yml").write_text(
        "submission_7:\n  :submitters:\n  - :name: Student One\n    :sid: '007'\n"
        "    :email: one@example.org\n  - :name: Student Two\n    :email: two@example.org\n"
        "  :created_at: 2026-10-01 12:00:00.5 Z\nsubmission_8: nonsense\n"
    )
    found = apart.submitters(tmp_path, "meta.yml")
    assert found == {"7": (["007", "two@example.org"], "2026-10-01 12:00:00.5 Z")}
    (tmp_path / "meta.yml").write_text("a: &a [*a, *a]\nb: [\n")
    assert apart.submitters(tmp_path, "meta.yml") == {}


@settings(max_examples=120, deadline=None)
@given(
    data=st.binary(max_size=200),
    name=st.sampled_from(["a.py", "a.ipynb", "a.zip", "a.tar.gz", "a.py.txt", "Ä [1] (2).PY"]),
)
def test_any_bytes_are_a_submission_or_a_refusal(apart, tmp_path_factory, data, name):
    path = tmp_path_factory.getbasetemp() / name
    path.write_bytes(data)
    try:
        submission = apart.read(path, name)
    except InputError as error:
        assert "\n" not in str(error)
        assert len(str(error)) < 1000
    else:
        assert submission.sources
