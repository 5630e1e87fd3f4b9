"""Archives: what is in them is read within limits, nothing leaves the folder, damage is told."""

import io
import stat
import tarfile
import zipfile
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import InputError
from grader.intake import archives, gather
from grader.intake.files import collect

SOURCE = "x = 1\n"


def zipped(path, files, **options):
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, **options) as archive:
        for name, text in files.items():
            archive.writestr(name, text)
    return path


def tarred(path, files, mode="w:gz"):
    with tarfile.open(path, mode) as archive:
        for name, text in files.items():
            info = tarfile.TarInfo(name)
            info.size = len(text)
            archive.addfile(info, io.BytesIO(text.encode()))
    return path


@pytest.mark.parametrize(
    ("name", "pack"),
    [
        ("s.zip", zipped),
        ("s.tar", lambda p, f: tarred(p, f, "w")),
        ("s.tar.gz", tarred),
        ("s.tgz", tarred),
        ("s.tar.bz2", lambda p, f: tarred(p, f, "w:bz2")),
        ("s.tar.xz", lambda p, f: tarred(p, f, "w:xz")),
        ("misnamed.py", zipped),
    ],
)
def test_an_archive_is_read_like_the_folder_that_it_holds(tmp_path, name, pack):
    files = {
        "hw/model.py": SOURCE,
        "hw/nb.ipynb": "{}",
        "hw/LAYERS.PY": "y = 2\n",
        "hw/data.csv": "1,2",
        "__MACOSX/hw/._model.py": "junk",
        "hw/.ipynb_checkpoints/nb-checkpoint.ipynb": "{}",
        "hw/__pycache__/a.py": "",
        "hw/env/lib/python3.11/site-packages/torch.py": "",
    }
    assert list(gather(pack(tmp_path / name, files))) == [
        "hw/LAYERS.py",
        "hw/model.py",
        "hw/nb.ipynb",
    ]


@pytest.mark.parametrize(
    "name", ["../evil.py", "a/../../evil.py", "/etc/evil.py", "C:\\evil.py", "..\\evil.py"]
)
@pytest.mark.parametrize("pack", [zipped, tarred])
def test_what_would_leave_the_folder_is_left_out_and_told(tmp_path, name, pack):
    gathered = collect(pack(tmp_path / "s", {name: SOURCE, "model.py": SOURCE}))
    assert list(gathered.files) == ["model.py"]
    assert len(gathered.notes) == 1
    assert "path" in gathered.notes[0].message


def test_links_are_left_out_and_told(tmp_path):
    link = zipfile.ZipInfo("link.py")
    link.external_attr = (stat.S_IFLNK | 0o777) << 16
    with zipfile.ZipFile(tmp_path / "s.zip", "w") as archive:
        archive.writestr(link, "/etc/passwd")
        archive.writestr("model.py", SOURCE)
    with tarfile.open(tmp_path / "s.tar", "w") as archive:
        for kind in (tarfile.SYMTYPE, tarfile.LNKTYPE):
            info = tarfile.TarInfo("link.py")
            info.type, info.linkname = kind, "/etc/passwd"
            archive.addfile(info)
        info = tarfile.TarInfo("model.py")
        info.size = len(SOURCE)
        archive.addfile(info, io.BytesIO(SOURCE.encode()))
    for name in ("s.zip", "s.tar"):
        gathered = collect(tmp_path / name)
        assert list(gathered.files) == ["model.py"]
        assert {note.message for note in gathered.notes} == {"Left out: a link."}


def encrypted(path):
    zipped(path, {"a.py": SOURCE})
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        data[data.index(mark) + at] |= 1
    path.write_bytes(data)


def damaged(path, pack=zipped):
    pack(path, {"a.py": "".join(f"x = {i}\n" for i in range(500))})
    data = bytearray(path.read_bytes())
    middle = len(data) // 3
    data[middle : middle + 40] = bytes(40)
    path.write_bytes(data)


def cut(path, pack=zipped):
    pack(path, {"a.py": "".join(f"x = {i}\n" for i in range(500))})
    path.write_bytes(path.read_bytes()[:-300])


def nested(path):
    zipped(path.with_name("inner.zip"), {"a.py": SOURCE})
    zipped(path, {"inner.zip": path.with_name("inner.zip").read_bytes()})


REFUSED = {
    "encrypted": (encrypted, "encrypted"),
    "damaged zip": (damaged, "damaged"),
    "damaged tar": (lambda p: damaged(p, tarred), "damaged"),
    "cut zip": (cut, "damaged"),
    "cut tar": (lambda p: cut(p, tarred), "damaged"),
    "nested": (nested, "holds an archive again"),
    "7z": (lambda p: p.write_bytes(b"7z\xbc\xaf\x27\x1c" + bytes(100)), "7z archive"),
    "rar": (lambda p: p.write_bytes(b"Rar!\x1a\x07\x01" + bytes(100)), "RAR archive"),
    "no Python": (lambda p: zipped(p, {"essay.docx": "x"}), "holds no .py file"),
    "empty": (lambda p: zipped(p, {}), "holds no .py file"),
    "not one at all": (lambda p: p.write_bytes(b"hello"), "not Python"),
    "too many": (lambda p: zipped(p, {f"{i}.py": "" for i in range(401)}), "more than 400"),
}


@pytest.mark.parametrize(("make", "word"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_read_is_refused_in_a_sentence(tmp_path, make, word):
    make(tmp_path / "s.zip")
    with pytest.raises(InputError, match=word) as info:
        gather(tmp_path / "s.zip")
    assert "\n" not in str(info.value)


def test_a_bomb_costs_no_more_than_the_limits(tmp_path, monkeypatch):
    zeros = bytes(3 * 2**20)
    with zipfile.ZipFile(tmp_path / "s.zip", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("bomb.py", zeros)
        archive.writestr("data.bin", zeros)
    with pytest.raises(InputError, match="more than 2 MB"):
        gather(tmp_path / "s.zip")
    monkeypatch.setattr(archives, "MAX_UNPACKED", 2**20)
    tarred(tmp_path / "s.tgz", {"data.bin": zeros.decode(), "model.py": SOURCE})
    with pytest.raises(InputError, match="unpacks to more than"):
        gather(tmp_path / "s.tgz")


def test_a_size_that_is_a_lie_is_found_out(tmp_path):
    path = zipped(tmp_path / "s.zip", {"bomb.py": "x" * (3 * 2**20)})
    data = bytearray(path.read_bytes())
    for mark, at in ((b"PK\x03\x04", 22), (b"PK\x01\x02", 24)):
        start = data.index(mark) + at
        data[start : start + 4] = (10).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(InputError):
        gather(path)


def test_a_folder_that_holds_one_archive_stands_for_it(tmp_path):
    zipped(tmp_path / "my work.zip", {"a.py": SOURCE})
    (tmp_path / "essay.docx").write_text("x")
    assert list(gather(tmp_path)) == ["a.py"]
    zipped(tmp_path / "again.zip", {"b.py": SOURCE})
    with pytest.raises(InputError, match="several archives"):
        gather(tmp_path)
    (tmp_path / "c.py").write_text(SOURCE)
    gathered = collect(tmp_path)
    assert list(gathered.files) == ["c.py"]
    assert "archive beside" in gathered.notes[0].message


@settings(max_examples=150, deadline=None)
@given(
    data=st.binary(max_size=300),
    head=st.sampled_from(
        [b"PK\x03\x04", b"PK\x05\x06", b"\x1f\x8b\x08", b"BZh9", b"\xfd7zXZ\x00", b""]
    ),
)
def test_any_bytes_are_files_or_a_refusal(tmp_path_factory, data, head):
    path = tmp_path_factory.getbasetemp() / "any.zip"
    path.write_bytes(head + data)
    try:
        files = gather(path)
    except InputError as error:
        assert "\n" not in str(error)
    else:
        assert files


@settings(max_examples=60, deadline=None)
@given(
    place=st.integers(0, 10_000), value=st.integers(0, 255), kind=st.sampled_from(["zip", "tgz"])
)
def test_an_archive_with_one_wrong_byte_is_files_or_a_refusal(tmp_path_factory, place, value, kind):
    path = tmp_path_factory.getbasetemp() / f"wrong.{kind}"
    pack = zipped if kind == "zip" else tarred
    pack(path, {"a.py": "".join(f"x = {i}\n" for i in range(60)), "b/c.py": SOURCE})
    data = bytearray(path.read_bytes())
    data[place % len(data)] = value
    path.write_bytes(data)
    try:
        assert gather(path)
    except InputError as error:
        assert "\n" not in str(error)


def test_nothing_is_written_to_disk(tmp_path):
    zipped(tmp_path / "s.zip", {"a/b.py": SOURCE})
    before = sorted(Path(tmp_path).rglob("*"))
    gather(tmp_path / "s.zip")
    assert sorted(Path(tmp_path).rglob("*")) == before
