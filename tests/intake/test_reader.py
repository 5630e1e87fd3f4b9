"""Reading: any bytes are a submission or a refusal in a sentence, with lines kept."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import InputError
from grader.intake import gather, read
from grader.intake.files import MAX_FILE_BYTES
from grader.intake.submission import Location


def notebook(*cells, version=4, **more):
    written = [
        {"cell_type": "code", "metadata": {}, "outputs": [], "execution_count": None, "source": c}
        if isinstance(c, (str, list))
        else c
        for c in cells
    ]
    return json.dumps(
        {"nbformat": version, "nbformat_minor": 2, "metadata": {}, "cells": written, **more}
    ).encode()


MARKDOWN = {"cell_type": "markdown", "metadata": {}, "source": "text"}


def text_of(source):
    return "".join(chunk.text for chunk in source.chunks)


@pytest.mark.parametrize(
    "data",
    [
        "x = 'é'\n".encode(),
        "\ufeffx = 'é'\n".encode(),
        "x = 'é'\n".encode("utf-16"),
        "# -*- coding: latin-1 -*-\nx = 'é'\n".encode("latin-1"),
        "x = 'é'\n".encode("latin-1"),
        b"x = '\xc3\xa9'\r\n",
    ],
)
def test_encodings_of_python_files(data):
    source = read({"a.py": data}, "a").sources["a.py"]
    namespace = {}
    exec(text_of(source), namespace)
    assert namespace["x"] == "é"


def test_an_encoding_that_hides_code_is_refused():
    with pytest.raises(InputError, match="UTF-8"):
        read({"a.py": b"# coding: utf-7\nx = 1\n"}, "a")


def test_a_syntax_error_is_told_with_file_line_and_text():
    with pytest.raises(InputError) as info:
        read({"a.py": b"x = 1\ndef f(:\n"}, "a")
    assert (info.value.file, info.value.line) == ("a.py", 2)
    assert "a.py, line 2" in str(info.value)
    assert "def f(:" in str(info.value)


@pytest.mark.parametrize(
    "data",
    [b"x = 1\x00", b"(" * 10_000, b"-" * 200_000 + b"1", b"\xff\xfe\x00", b"x" * 100 + b"\n  y"],
)
def test_what_cannot_be_parsed_is_refused_in_a_sentence(data):
    with pytest.raises(InputError) as info:
        read({"a.py": data}, "a")
    assert "\n" not in str(info.value)


def test_a_broken_file_beside_a_good_one_is_noted():
    submission = read({"a.py": b"x = 1\n", "b.py": b"def\n"}, "s")
    assert list(submission.sources) == ["a.py"]
    assert submission.broken["b.py"].location == Location("b.py", 1)


def test_cells_are_joined_in_order_and_lines_map_back():
    data = notebook("a = 1\nb = 2", MARKDOWN, ["c = 3\n", "d = 4"])
    source = read({"n.ipynb": data}, "n").sources["n.ipynb"]
    assert text_of(source) == "a = 1\nb = 2\nc = 3\nd = 4\n"
    assert source.locate(2) == Location("n.ipynb", 2, 1)
    assert source.locate(4) == Location("n.ipynb", 2, 3)
    assert str(source.locate(4)) == "n.ipynb, cell 3, line 2"


def test_shell_lines_and_magics_are_left_out_and_noted():
    data = notebook(
        "%matplotlib inline\n!pip install x\nif True:\n    !ls\nx = 1", "%%bash\nls", "y = 2"
    )
    submission = read({"n.ipynb": data}, "n")
    source = submission.sources["n.ipynb"]
    namespace = {}
    exec(text_of(source), namespace)
    assert (namespace["x"], namespace["y"]) == (1, 2)
    places = [str(note.location) for note in submission.notes]
    assert places == [
        "n.ipynb, cell 1, line 1",
        "n.ipynb, cell 1, line 2",
        "n.ipynb, cell 1, line 4",
        "n.ipynb, cell 2, line 1",
    ]
    assert "!pip install x" in submission.notes[1].message


def test_a_percent_sign_that_is_python_stays():
    data = notebook("x = (7\n% 4)\ntext = '''\n!not a shell line\n'''")
    submission = read({"n.ipynb": data}, "n")
    namespace = {}
    exec(text_of(submission.sources["n.ipynb"]), namespace)
    assert namespace["x"] == 3
    assert "!not" in namespace["text"]
    assert submission.notes == ()


def test_a_timed_cell_keeps_its_body():
    source = read({"n.ipynb": notebook("%%time\nx = 1")}, "n").sources["n.ipynb"]
    assert text_of(source) == "\nx = 1\n"


def test_a_cell_that_is_not_python_is_left_out_and_the_others_stay():
    submission = read({"n.ipynb": notebook("x = 1", "this is no code", "y = 2")}, "n")
    assert text_of(submission.sources["n.ipynb"]) == "x = 1\ny = 2\n"
    assert submission.notes[0].location == Location("n.ipynb", 1, 2)


def test_an_older_notebook_is_upgraded():
    cell = {"cell_type": "code", "input": "x = 1", "outputs": [], "language": "python"}
    data = {
        "nbformat": 3, "nbformat_minor": 0, "metadata": {}, "worksheets": [{"cells": [cell]}],
    }  # fmt: skip
    submission = read({"n.ipynb": json.dumps(data).encode()}, "n")
    assert text_of(submission.sources["n.ipynb"]) == "x = 1\n"


def test_a_notebook_under_a_python_name_is_read_as_one():
    assert read({"model.py": notebook("x = 1")}, "m").sources["model.py"].is_notebook


@pytest.mark.parametrize(
    "data",
    [b"", b"[]", b"{}", b"not json", b'{"nbformat": 4}', b'{"nbformat": "x", "cells": 1}', b"null"],
)
def test_what_is_no_notebook_is_refused_in_a_sentence(data):
    with pytest.raises(InputError) as info:
        read({"n.ipynb": data}, "n")
    assert "n.ipynb" in str(info.value)
    assert "\n" not in str(info.value)


@settings(deadline=None, max_examples=150)
@given(data=st.binary(max_size=200), ending=st.sampled_from([".py", ".ipynb"]))
def test_any_bytes_are_a_submission_or_a_refusal(data, ending):
    try:
        submission = read({"a" + ending: data}, "a")
    except InputError:
        return
    assert submission.sources


cells = st.text(st.sampled_from("x=1\n%!?{}()'\" \tdefif:"), max_size=30)


@settings(deadline=None, max_examples=100)
@given(texts=st.lists(cells, min_size=1, max_size=4))
def test_any_cells_keep_their_lines(texts):
    try:
        submission = read({"n.ipynb": notebook(*texts)}, "n")
    except InputError:
        return
    source = submission.sources["n.ipynb"]
    assert source.tree is not None
    for chunk in source.chunks:
        written = texts[chunk.cell - 1].replace("\r", "\n").rstrip("\n").split("\n")
        assert source.locate(chunk.first_line + len(written) - 1).line == len(written)


def test_the_digest_tells_names_and_contents_apart():
    digests = {
        read(files, "s").digest
        for files in (
            {"a.py": b"x = 1\n"},
            {"b.py": b"x = 1\n"},
            {"a.py": b"x = 2\n"},
            {"a.py": b"x = 1\n", "b.py": b""},
        )
    }
    assert len(digests) == 4
    assert read({"a.py": b"x = 1\n"}, "other").digest in digests


def test_gathering_a_folder_ignores_junk_and_links(tmp_path):
    for name in ("a.py", "sub/b.ipynb", ".git/c.py", "__pycache__/d.py", "venv/e.py", "f.txt"):
        path = tmp_path / "s" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text("x")
    (tmp_path / "secret.py").write_text("x")
    (tmp_path / "s" / "link.py").symlink_to(tmp_path / "secret.py")
    (tmp_path / "s" / "folder").symlink_to(tmp_path)
    assert list(gather(tmp_path / "s")) == ["a.py", "sub/b.ipynb"]


@pytest.mark.parametrize(
    ("make", "word"),
    [
        (lambda p: p / "missing.py", "no file or folder"),
        (lambda p: (p / "a.txt").write_text("x") and p / "a.txt", "not Python"),
        (lambda p: p, "holds no"),
        (lambda p: (p / "a.py").write_text("x" * (MAX_FILE_BYTES[".py"] + 1)) and p / "a.py", "MB"),
    ],
)
def test_what_cannot_be_gathered_is_refused_in_a_sentence(tmp_path, make, word):
    with pytest.raises(InputError, match=word):
        gather(make(tmp_path))
