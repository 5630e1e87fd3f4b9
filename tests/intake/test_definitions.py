"""What modules define, and which of them are graded."""

import pytest

from grader.intake import read
from grader.intake.definitions import choose_modules, definitions, is_implemented, nearest_name

NAMES = ["split_heads", "merge_heads", "MultiHeadAttention"]
STUB = "def split_heads(x): raise NotImplementedError\ndef merge_heads(x):\n    'doc'\n"
DONE = "def split_heads(x): return x\ndef merge_heads(x): return x\n"


def sources(**files):
    data = {name.replace("__", "/") + ".py": text.encode() for name, text in files.items()}
    return read(data, "s").sources


def chosen(**files):
    return [
        m.path for m in choose_modules(sources(**files).values(), NAMES, "multi_head_attention")
    ]


@pytest.mark.parametrize(
    "text",
    [
        "def f(): ...",
        "class f: pass",
        "f = lambda x: x",
        "f: object = 1",
        "import f",
        "from m import g as f",
        "if True:\n    def f(): ...",
        "try:\n    import q\nexcept ImportError:\n    f = None",
        "f = g = 1",
        "(f, g) = 1, 2",
    ],
)
def test_every_way_to_bind_a_name_is_seen(text):
    assert "f" in definitions(sources(a=text)["a.py"])


def test_what_only_a_self_test_defines_is_not_seen():
    found = definitions(
        sources(a="if __name__ == '__main__':\n    f = 1\nelse:\n    g = 1")["a.py"]
    )
    assert set(found) == {"g"}


def test_the_last_definition_counts():
    found = definitions(sources(a="def f(): ...\n\ndef f(): ...\n")["a.py"])
    assert found["f"].lineno == 3


@pytest.mark.parametrize(("text", "done"), [(STUB, False), (DONE, True)])
def test_stubs_are_told_from_implementations(text, done):
    found = definitions(sources(a=text)["a.py"])
    assert is_implemented(found["split_heads"]) is done


def test_the_module_named_like_the_assignment_wins():
    assert chosen(other=DONE + "def MultiHeadAttention(): return 1", multi_head_attention=DONE) == [
        "multi_head_attention.py",
        "other.py",
    ]


def test_a_template_left_alone_gives_way_to_the_work():
    assert chosen(multi_head_attention=STUB, mine=DONE)[0] == "mine.py"


def test_names_are_gathered_from_several_modules():
    assert chosen(a="def split_heads(x): return x", b="def merge_heads(x): return x") == [
        "a.py",
        "b.py",
    ]


def test_test_modules_come_last():
    assert chosen(test_mine=DONE, mine=DONE) == ["mine.py"]


def test_nothing_of_the_assignment_is_no_module():
    assert chosen(a="x = 1") == []


@pytest.mark.parametrize(
    ("name", "others", "expected"),
    [
        ("MultiHeadAttention", ["MultiheadAttention", "x"], "MultiheadAttention"),
        ("split_heads", ["splitHeads"], "splitHeads"),
        ("split_heads", ["train", "loss"], None),
    ],
)
def test_the_nearest_name(name, others, expected):
    assert nearest_name(name, others) == expected
