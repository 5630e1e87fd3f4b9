"""Which modules of a folder could be what is to be graded."""

import pytest

from grader.assignment import load_assignment
from grader.assignment.candidates import candidates, without
from grader.intake import read

WHOLE = """
def split_heads(x, n): return x
def merge_heads(x): return x
def scaled_dot_product_attention(q, k, v): return q
class MultiHeadAttention: n = 3
"""
STUBS = WHOLE.replace("return x", "raise NotImplementedError").replace("n = 3", "pass")
FOLDERS = {
    "one": ({"a.py": WHOLE, "notes.py": "x = 1"}, ["a.py"]),
    "two": ({"a.py": WHOLE, "b.py": WHOLE}, ["a.py", "b.py"]),
    "one is named": (
        {"multi_head_attention.py": WHOLE, "b.py": WHOLE},
        ["multi_head_attention.py"],
    ),
    "the other is a stub": ({"multi_head_attention.py": STUBS, "b.py": WHOLE}, ["b.py"]),
    "one imports the other": ({"a.py": "from b import *\n" + WHOLE, "b.py": WHOLE}, ["a.py"]),
    "a test": ({"a.py": WHOLE, "test_a.py": WHOLE}, ["a.py"]),
    "it lies in several": (
        {"a.py": "def split_heads(x, n): return x", "b.py": "def merge_heads(x): return x"},
        [],
    ),
    "students": ({"one/a.py": WHOLE, "two/a.py": WHOLE}, ["one/a.py", "two/a.py"]),
}


@pytest.mark.parametrize(("files", "expected"), FOLDERS.values(), ids=FOLDERS)
def test_which_modules_could_be_meant(files, expected):
    submission = read({name: text.encode() for name, text in files.items()}, "s")
    assert candidates(submission, load_assignment("multi_head_attention")) == expected


def test_the_others_are_left_out():
    submission = read({"a.py": WHOLE.encode(), "b.py": WHOLE.encode(), "c.py": b"x = 1"}, "s")
    assert list(without(submission, ["a.py", "b.py"], "b.py").sources) == ["b.py", "c.py"]
