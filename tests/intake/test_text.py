"""Bytes and text: whatever the encoding, the same Python; what hides is told; bombs are refused."""

import ast

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.errors import InputError
from grader.intake import read
from grader.intake.submission import Location
from grader.intake.text import decode, parse

TEXT = 'name = "café"\r\nif True:\r\n\tvalue = 3\r\n\x0c\r\n'


@pytest.mark.parametrize(
    "data",
    [
        TEXT.encode(),
        TEXT.encode("utf-8-sig"),
        TEXT.encode("utf-16"),
        TEXT.encode("utf-16-le"),
        TEXT.encode("utf-16-be"),
        b"\xfe\xff" + TEXT.encode("utf-16-be"),
        TEXT.encode("latin-1"),
        b"# coding: latin-1\n" + TEXT.encode("latin-1"),
        b"# -*- coding: utf-8 -*-\n" + TEXT.encode("latin-1"),
        b"# coding: cp1252\n" + TEXT.encode("cp1252"),
        TEXT.replace("\r\n", "\r").encode(),
        TEXT.encode() + b"\x1a",
    ],
)
def test_every_usual_encoding_gives_the_same(data):
    namespace = {}
    exec(decode("a.py", data), namespace)
    assert (namespace["name"], namespace["value"]) == ("café", 3)


@pytest.mark.parametrize(
    "encoding", ["utf-7", "rot13", "base64", "nonsense", "shift-jis", "x" * 500]
)
def test_an_encoding_that_could_hide_code_is_refused(encoding):
    with pytest.raises(InputError, match="save it as UTF-8"):
        decode("a.py", f"# coding: {encoding}\nx = 1\n".encode())


def test_characters_that_turn_the_direction_are_a_finding():
    data = "x = 1\nif x: # \u202e } \u2066 if admin\n    y = 2\n".encode()
    (note,) = read({"a.py": data}, "a").notes
    assert (note.kind, note.location) == ("review", Location("a.py", 2))
    assert "U+202E" in note.message


REFUSED = {
    "brackets": b"(" * 10_000,
    "signs": b"-" * 1_000_000 + b"1",
    "sums": b"x = " + b"1+" * 100_000 + b"1",
    "attributes": b"a" + b".b" * 300_000,
    "branches": b"if a: pass\n" + b"elif a: pass\n" * 5000,
    "lambdas": b"x = " + b"lambda: " * 80_000 + b"1",
    "lines": b"x = 1\n" * 200_000,
    "a list": b"x = [" + b"1," * 300_000 + b"]",
    "zero bytes": b"x = 1\x00\n",
    "a return outside of functions": b"return 1\n",
    "images": bytes(range(256)) * 20,
}


@pytest.mark.parametrize("data", REFUSED.values(), ids=REFUSED)
def test_what_no_hand_writes_is_refused_in_a_sentence(data):
    with pytest.raises(InputError) as info:
        read({"a.py": data}, "a")
    assert "\n" not in str(info.value)
    assert len(str(info.value)) < 400


@pytest.mark.parametrize(
    "data",
    [
        b"x = '" + b"a" * 2_000_000 + b"'",
        b"#" + b"a" * 2_000_000,
        b"x = " + b"1 + " * 400 + b"1",
        b"if a: pass\n" + b"elif a: pass\n" * 300,
        b"x = 2 ** (10 ** 9)\n",
        b"await x\n",
    ],
)
def test_long_lines_and_much_of_the_same_are_read(data):
    assert list(read({"a.py": data}, "a").sources) == ["a.py"]


@settings(max_examples=100, deadline=None)
@given(st.text(max_size=60))
def test_parsing_ends_with_a_tree_or_a_syntax_error(text):
    try:
        assert isinstance(parse(text), ast.Module)
    except SyntaxError as error:
        assert error.msg


def test_lines_are_counted_as_python_counts_them():
    data = b"x = 'a\x0cb\x1c\xe2\x80\xa8c'\ndef f(:\n"
    with pytest.raises(InputError) as info:
        read({"a.py": data}, "a")
    assert info.value.line == 2
    assert str(info.value).endswith("def f(:")


def test_a_module_with_a_notebooks_shell_lines_is_read_without_them():
    data = b"!pip install einops\nimport torch\n%matplotlib inline\nif True:\n    !ls\nx = 1\n"
    submission = read({"a.py": data}, "a")
    assert [note.location.line for note in submission.notes] == [1, 3, 5]
    assert submission.sources["a.py"].tree.body[-1].lineno == 6


def test_a_syntax_error_beside_shell_lines_is_still_one():
    with pytest.raises(InputError, match="line 2 is not valid"):
        read({"a.py": b"!pip install einops\nexport = = 1\n"}, "a")


def test_a_merge_conflict_in_a_module_is_named():
    with pytest.raises(InputError, match=r"merge conflict \(line 2\)") as info:
        read({"a.py": b"x = 1\n<<<<<<< HEAD\ny = 1\n=======\ny = 2\n>>>>>>> main\n"}, "a")
    assert info.value.line == 2
