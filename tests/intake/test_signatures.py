"""What functions and methods take, as the source shows it."""

import pytest

from grader.intake import read
from grader.intake.signatures import signature_of


def signature(text, name, *methods):
    files = text if isinstance(text, dict) else {"a.py": text}
    sources = read({path: t.encode() for path, t in files.items()}, "a").sources
    return signature_of(list(sources.values()), name, methods or ("__init__",))


def test_a_function_has_its_parameters_and_its_line():
    found = signature("\ndef f(q, k, /, v, mask=None, *, scale=1): ...", "f")
    assert (found.called, found.path, found.line) == ("f", "a.py", 2)
    assert found.positional == ("q", "k", "v", "mask")
    assert found.required == ("q", "k", "v")


def test_a_lambda_is_a_function():
    assert signature("f = lambda a, b=1: a", "f").positional == ("a", "b")


def test_a_class_has_those_of_its_method_without_self():
    text = "class C:\n    def __init__(self, d, h): ...\n    def forward(self, x): ...\n"
    assert signature(text, "C").positional == ("d", "h")
    forward = signature(text, "C", "forward", "__call__")
    assert (forward.called, forward.line, forward.positional) == ("C.forward", 3, ("x",))


def test_a_method_may_be_inherited_from_another_module_of_the_submission():
    files = {
        "a.py": "import b\nclass C(b.Base): ...",
        "b.py": "class Base:\n    def __init__(self, h, d): ...",
    }
    found = signature(files, "C")
    assert (found.path, found.positional) == ("b.py", ("h", "d"))


def test_a_static_method_has_no_self():
    text = "class C:\n    @staticmethod\n    def forward(x, mask): ...\n"
    assert signature(text, "C", "forward").positional == ("x", "mask")


def test_a_class_without_the_method_has_its_line_and_no_parameters():
    found = signature("\nclass C(C): ...", "C")
    assert (found.called, found.line, found.positional) == ("C", 2, ())


@pytest.mark.parametrize("text", ["from m import f", "f = 3", "g = 3"])
def test_what_shows_no_signature_has_none(text):
    assert signature(text, "f") is None
