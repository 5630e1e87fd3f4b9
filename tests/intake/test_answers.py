"""`ANSWERS` is read off the syntax tree: nothing runs, the last answer counts."""

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from grader.intake import read
from grader.intake.answers import read_answers
from tests.intake.test_reader import notebook


def answers_of(text, name="a.py"):
    data = text if isinstance(text, bytes) else text.encode()
    found, notes = read_answers(read({name: data}, "a").sources.values())
    return {key: answer.value for key, answer in found.items()}, notes


FORMS = {
    "a dict": "ANSWERS = {'q': 1}",
    "annotated": "ANSWERS: dict[str, object] = {'q': 1}",
    "two targets": "mine = ANSWERS = {'q': 1}",
    "an item": "ANSWERS = {}\nANSWERS['q'] = 1",
    "an update": "ANSWERS = {}\nANSWERS.update({'q': 1})",
    "an update in place": "ANSWERS = {}\nANSWERS |= {'q': 1}",
    "dict around one": "ANSWERS = dict({'q': 1})",
    "under an if": "if True:\n    ANSWERS = {'q': 1}",
    "a name with blanks": "ANSWERS = {' q ': 1}",
    "the last in one dict": "ANSWERS = {'q': 2, 'q': 1}",
    "the last of two": "ANSWERS = {'q': 2}\nANSWERS = {'q': 1}",
    "the last of item and dict": "ANSWERS = {'q': 2}\nANSWERS['q'] = 1",
    "the last of update and item": "ANSWERS = {}\nANSWERS['q'] = 2\nANSWERS.update({'q': 1})",
    "code after it that fails": "ANSWERS = {'q': 1}\nraise SystemExit(1 / 0)",
    "what it is not": "ANSWERS = {'q': 1}\nOTHER = {'q': 2}\nOTHER['q'] = 3\nx.update({'q': 4})",
}


@pytest.mark.parametrize("text", FORMS.values(), ids=FORMS)
def test_answers_are_read_in_every_usual_form(text):
    assert answers_of(text) == ({"q": 1}, [])


LITERALS = {
    "'text'": "text",
    "'two ' 'parts'": "two parts",
    "-1": -1,
    "+1.5": 1.5,
    "True": True,
    "None": None,
    "(1, 2)": (1, 2),
    "[1, [2]]": [1, [2]],
    "{1}": [1],
    "{'a': (1, 2)}": {"a": (1, 2)},
    "1 / 8": 0.125,
    "4 * 32 ** 2 + 1": 4097,
    "7 // 2 - 1": 2,
    "2 ** -1": 0.5,
    "-2 ** 2": -4,
}


@pytest.mark.parametrize(("text", "value"), LITERALS.items(), ids=LITERALS)
def test_a_literal_is_its_value_and_arithmetic_counts_as_one(text, value):
    found, notes = answers_of(f"ANSWERS = {{'q': {text}}}")
    assert found == {"q": value}
    assert type(found["q"]) is type(value)
    assert notes == []


NO_LITERALS = {
    "a call": "__import__('os').system('touch {mark}')",
    "an open file": "open('{mark}', 'w')",
    "an f-string": 'f\'{{open("{mark}", "w")}}\'',
    "a name": "mine",
    "an attribute": "math.pi",
    "an item of something": "x[0]",
    "a comprehension": "[n for n in range(3)]",
    "a lambda": "lambda: 1",
    "a condition": "1 if True else 2",
    "a comparison": "1 < 2",
    "bytes": "b'x'",
    "an ellipsis": "...",
    "a complex number": "1j",
    "a huge power": "9 ** 9 ** 9",
    "a power of a power": "((10 ** 64) ** 64) ** 64",
    "a huge base": "10000000 ** 2",
    "a division by 0": "1 / 0",
    "a text times a number": "'x' * 1000000000",
    "a sum of texts": "'a' + 'b'",
    "a call inside a list": "[1, f()]",
    "an unhashable key": "{{[1]: 2}}",
}


@pytest.mark.parametrize("text", NO_LITERALS.values(), ids=NO_LITERALS)
def test_what_is_no_literal_is_noted_and_never_run(tmp_path, text):
    touched = tmp_path / "touched"
    text = text.format(mark=touched)
    found, notes = answers_of(f"ANSWERS = {{\n'p': 1,\n'q': {text},\n}}")
    assert found == {"p": 1}
    (note,) = notes
    assert note.kind == "note"
    assert "no literal" in note.message
    assert note.location.line == 3
    assert not touched.exists()


@pytest.mark.parametrize(
    "text",
    [
        "ANSWERS = f({'q': 1}, os.system('true'))",
        "ANSWERS = {'q': 1, **more}",
        "ANSWERS = dict(**more, **{'x': 2})\nANSWERS['q'] = 1",
        "ANSWERS['q'] = 1\nANSWERS.pop('q')",
    ],
)
def test_what_stands_around_answers_is_passed_over(text):
    assert answers_of(text)[0] == {"q": 1}


@pytest.mark.parametrize("key", ["1", "name", "f'q'", "('a', 'b')", "None"])
def test_a_key_that_is_no_text_is_noted(key):
    found, notes = answers_of(f"ANSWERS = {{{key}: 1}}\nANSWERS[{key}] = 2")
    assert found == {}
    assert len(notes) == 2


@pytest.mark.parametrize(
    "text",
    [
        "x = 1",
        "def f():\n    ANSWERS = {'q': 1}",
        "class A:\n    ANSWERS = {'q': 1}",
        "if __name__ == '__main__':\n    ANSWERS = {'q': 1}",
        "answers = {'q': 1}",
        "ANSWERS = 3",
        "ANSWERS = [1, 2]",
        "ANSWERS: dict",
        "ANSWERS.clear()",
    ],
)
def test_what_binds_no_answers_gives_none(text):
    assert answers_of(text) == ({}, [])


def test_answers_are_read_over_the_cells_of_a_notebook():
    data = notebook(
        "ANSWERS = {'a': 1, 'b': 2}",
        "%matplotlib inline\nANSWERS['b'] = 3",
        "ANSWERS.update({'c': f(1)})",
    )
    found, notes = read_answers(read({"n.ipynb": data}, "n").sources.values())
    assert {key: answer.value for key, answer in found.items()} == {"a": 1, "b": 3}
    assert str(found["b"].location) == "n.ipynb, cell 2, line 2"
    assert [str(note.location) for note in notes] == ["n.ipynb, cell 3, line 1"]


def test_of_several_modules_the_first_that_has_an_answer_counts():
    files = {"b.py": b"ANSWERS = {'q': 2, 'r': 3}\n", "a.py": b"ANSWERS = {'q': 1}\n"}
    sources = read(files, "s").sources
    found, _ = read_answers([sources["a.py"], sources["b.py"]])
    assert {key: answer.value for key, answer in found.items()} == {"q": 1, "r": 3}
    found, _ = read_answers([sources["b.py"], sources["a.py"]])
    assert found["q"].value == 2


def test_a_later_answer_that_is_no_literal_leaves_the_earlier_one_and_is_noted():
    found, notes = answers_of("ANSWERS = {'q': 1}\nANSWERS['q'] = compute()")
    assert found == {"q": 1}
    assert len(notes) == 1


def test_an_answer_that_is_nested_deeply_is_noted_or_read_and_never_an_error():
    found, notes = answers_of("ANSWERS = {'q': " + "[" * 90 + "]" * 90 + ", 'r': 1}")
    assert found["r"] == 1
    assert len(found) + len(notes) == 2
    found, notes = answers_of("ANSWERS = {'q': " + "+".join(["1"] * 700) + ", 'r': 1}")
    assert found["r"] == 1
    assert len(found) + len(notes) == 2


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False)
        | st.text(),
        lambda inner: st.lists(inner, max_size=3)
        | st.tuples(inner, inner)
        | st.dictionaries(st.text(), inner, max_size=3),
        max_leaves=6,
    )
)  # fmt: skip
@settings(deadline=None)
def test_any_literal_is_read_as_it_was_written(value):
    assert answers_of(f"ANSWERS = { ({'q': value})!a}") == ({"q": value}, [])
