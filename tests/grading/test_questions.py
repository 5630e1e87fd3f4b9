"""Answers: every accepted form of a right one gets full points, a wrong one an explanation."""

from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from grader.assignment.questions import (
    Buckets,
    Choice,
    NumberQuestion,
    Open,
    Questions,
    Shape,
    Steps,
    Table,
)
from grader.grading.questions import (
    MAX_SHOWN,
    MAX_STRANGERS,
    as_number,
    as_shape,
    mark,
    question_title,
    questions_row,
)
from grader.intake import read

COMMON = {"points": Decimal("0.3"), "lesson": "L", "prompt": "What is it?"}
CHECKED = {**COMMON, "explanation": "It is so."}
CHOICE = Choice(
    id="choice",
    kind="choice",
    options={"A": "a causal mask", "B": "keys (B, S)", "C": "4"},
    answer="B",
    tempting={"A": "Tempting, but no.", "C": "Four is too few."},
    **CHECKED,
)
COUNT = NumberQuestion(id="count", kind="number", answer=8416, tolerance=0, **CHECKED)
SCALE = NumberQuestion(
    id="scale", kind="number", answer=0.125, tolerance=0.0005, also=(8,), **CHECKED
)
SHAPE = Shape(id="shape", kind="shape", answer=(2, 4, 7), **CHECKED)
TABLE = Table(
    id="table",
    kind="table",
    rows=("FFN", "norms", "whole block"),
    column="parameters",
    answer=(4192, 128, 8416),
    accept={"norms": (64,)},
    **CHECKED,
)
SHAPES = Table(
    id="shapes", kind="table", rows=("x", "y"), column="shape", answer=([2, 3], [5]), **CHECKED
)
WORDS = Table(
    id="words", kind="table", rows=("x", "y"), column="word", answer=("O(n²d)", "causal"), **CHECKED
)
BUCKETS = Buckets(
    id="buckets",
    kind="buckets",
    buckets=("decay", "no decay"),
    answer={"W_Q matrix": "decay", "FFN bias": "no decay", "norm(x)": "no decay"},
    **CHECKED,
)
STEPS = Steps(
    id="steps",
    kind="steps",
    rows=({"n": 64, "entries": 4096},),
    answer={"n": 128, "entries": 16384},
    **CHECKED,
)
OPEN = Open(id="open", kind="open", guide="Look for it.", **COMMON)
QUESTIONS = Questions(
    schema="transformer-grader/questions/1",
    title="Questions",
    questions=(CHOICE, COUNT, SCALE, SHAPE, TABLE, SHAPES, WORDS, BUCKETS, STEPS, OPEN),
)


def row_of(question, value):
    rows, _ = graded({question.id: value})
    return rows[question.id]


def graded(answers):
    submission = read({"a.py": f"ANSWERS = {answers!r}\n".encode()}, "a")
    milestone, notes = questions_row(QUESTIONS, submission.sources.values())
    return {row.id: row for row in milestone.checks}, notes


BY_ID = {question.id: question for question in QUESTIONS.questions}
RIGHT = {
    "choice": ["B", "b", "B.", "b)", "(B)", " B ", "B: keys", "keys (B, S)", "Keys (b,S).", ["B"]],
    "count": [8416, 8416.0, "8416", "8,416", "8 416", "8_416", "8416.0", "+8416", [8416], "8416."],
    "scale": [0.125, "1/8", "1 / 8", "0.1252", 0.1247, "0.125×", "8", "8x", "1.25e-1"],
    "shape": [(2, 4, 7), [2, 4, 7], "(2, 4, 7)", "2x4x7", "2 × 4 × 7", "[2,4,7]", "2*4*7",
            "torch.Size([2, 4, 7])", "(2, 4, 7,)", [(2, 4, 7)]],
    "table": [[4192, 128, 8416], (4192, "128", "8,416"), [4192, 64, 8416],
            {"whole block": 8416, "FFN": 4192, "norms": 128},
            {"ffn": "4,192", "Norms": 64, "wholeblock": 8416, "more": 1}],
    "shapes": [[(2, 3), (5,)], ["2x3", "(5,)"], {"x": [2, 3], "y": [5]}],
    "words": [["O(n²d)", "causal"], ["o(n²d)", " Causal. "], {"y": "causal", "x": "O(n2d)"}],
    "buckets": [{"W_Q matrix": "decay", "FFN bias": "no decay", "norm(x)": "no decay"},
              {"w_q matrix": "Decay", "FFN bias": "No Decay.", "norm (x)": "no decay"},
              {"decay": ["W_Q matrix"], "no decay": ["FFN bias", "norm(x)"]},
              {"No decay": ("norm(x)", "FFN bias"), "decay": ("W_Q matrix",)},
              ["decay", "no decay", "no decay"]],
    "steps": [{"n": 128, "entries": 16384}, {"n": "128", "entries": "16,384"}, [128, 16384]],
}  # fmt: skip
FULL = [
    pytest.param(BY_ID[name], value, id=f"{name} {value!r}")
    for name, values in RIGHT.items()
    for value in values
]


@pytest.mark.parametrize(("question", "value"), FULL)
def test_a_right_answer_gets_full_points_in_any_form(question, value):
    row = row_of(question, value)
    assert (row.status, row.score, row.message) == ("passed", question.points, None)


WRONG = {
    "choice": ["A", "D", "causal", 2, ["A", "B"], "A or B", True],
    "count": [8415, 8417, "8.416", "84,16", "8416 parameters", True, "inf", "nan", [8416, 1],
            "1/0", 10**400],
    "scale": [0.1256, "0.1", "8/1000"],
    "shape": [(2, 7, 4), (2, 4), "2", "two", 2, (2.0, 4.0, 7.0), "(2, -4, 7)", {"a": 1}],
    "steps": [{"n": 128, "entries": 16385}, {"n": 128}, [128], "128"],
    "buckets": [{"W_Q matrix": "no decay", "FFN bias": "decay", "norm(x)": "decay"}, "decay",
                ["decay"]],
}  # fmt: skip
LOST = [
    pytest.param(BY_ID[name], value, id=f"{name} {value!r:.40}")
    for name, values in WRONG.items()
    for value in values
]


@pytest.mark.parametrize(("question", "value"), LOST)
def test_a_wrong_answer_gets_nothing_and_the_explanation(question, value):
    row = row_of(question, value)
    assert (row.status, row.score) == ("failed", 0)
    assert row.message.endswith("It is so.")
    assert row.lesson == "L"
    assert row.location.line == 1
    assert row.got


def test_a_wrong_option_says_why_it_tempts():
    assert row_of(CHOICE, "A").message == "Tempting, but no. It is so."
    assert row_of(CHOICE, "a causal mask").message == "Tempting, but no. It is so."
    assert row_of(CHOICE, "4").message == "Four is too few. It is so."


@pytest.mark.parametrize(
    ("question", "value", "form"),
    [
        (CHOICE, "Z", "one of A, B, C"),
        (COUNT, "many", "a number"),
        (SHAPE, "wide", "a shape"),
    ],
)
def test_an_answer_of_another_form_is_told_which_is_wanted(question, value, form):
    assert form in row_of(question, value).message


@pytest.mark.parametrize(
    ("question", "value", "score", "named"),
    [
        (TABLE, [4192, 1, 8416], "0.2", "row norms"),
        (TABLE, [1, 1, 8416], "0.1", "row FFN, norms"),
        (TABLE, {"FFN": 4192}, "0.1", "row norms, whole block"),
        (SHAPES, [(2, 3), 5], "0.15", "row y"),
        (BUCKETS, {"W_Q matrix": "decay", "FFN bias": "no decay"}, "0.2", "item norm(x)"),
        (BUCKETS, {"decay": ["W_Q matrix", "FFN bias", "norm(x)"]}, "0.1", "item FFN bias"),
    ],
)
def test_a_part_that_is_right_gets_its_share_and_the_others_are_named(
    question, value, score, named
):
    row = row_of(question, value)
    assert (row.status, row.score) == ("failed", Decimal(score))
    assert f"Not right: {named}" in row.message


def test_a_share_is_cut_to_a_cent_and_never_rounded_up():
    third = TABLE.model_copy(update={"points": Decimal("0.05"), "id": "third"})
    questions = QUESTIONS.model_copy(update={"questions": (third,)})
    submission = read({"a.py": b"ANSWERS = {'third': [4192, 128, 1]}\n"}, "a")
    milestone, _ = questions_row(questions, submission.sources.values())
    assert milestone.score == Decimal("0.03")


@pytest.mark.parametrize("value", [None, "", "  ", [], {}, ()])
@pytest.mark.parametrize("question", [CHOICE, COUNT, TABLE, OPEN])
def test_what_is_not_answered_is_blocked(question, value):
    row = row_of(question, value)
    assert (row.status, row.score, row.got) == ("blocked", 0, None)
    assert "Not answered" in row.message


def test_without_answers_every_question_is_blocked():
    submission = read({"a.py": b"x = 1\n"}, "a")
    milestone, notes = questions_row(QUESTIONS, submission.sources.values())
    assert {row.status for row in milestone.checks} == {"blocked"}
    assert (milestone.score, milestone.max_score, notes) == (0, Decimal("3.0"), [])


def test_an_open_answer_waits_for_a_person_with_its_text():
    row = row_of(OPEN, "It is like a library: …")
    assert (row.status, row.score, row.got) == ("review", 0, "It is like a library: …")
    assert row.message == "Waits for a person's mark."
    assert row.hint is None


def test_an_open_question_is_never_marked_by_machine():
    with pytest.raises(ValueError, match="person"):
        mark(OPEN, "text")


def test_a_long_answer_is_cut_in_the_report():
    got = row_of(OPEN, "x" * 10_000).got
    assert len(got) == MAX_SHOWN
    assert got.endswith("…")


def test_the_milestone_sums_up_and_keeps_the_order():
    rows, _ = graded({"count": 8416, "table": [4192, 1, 1], "open": "text"})
    assert list(rows) == [question.id for question in QUESTIONS.questions]
    assert sum(row.score for row in rows.values()) == Decimal("0.4")
    assert sum(row.max_score for row in rows.values()) == QUESTIONS.points


def test_an_answer_to_no_question_is_noted_with_the_nearest():
    _, notes = graded({"cuont": 1, "elsewhere-entirely": 2})
    assert "`cuont` is no question of this assignment; the nearest is `count`." in notes[0].message
    assert notes[1].message == "`elsewhere-entirely` is no question of this assignment."
    assert notes[0].location.line == 1


def test_only_a_few_answers_to_no_question_are_noted():
    _, notes = graded({f"stranger-{number}": 1 for number in range(40)})
    assert len(notes) == MAX_STRANGERS


def test_a_title_is_the_sentence_that_asks():
    def title(prompt):
        return question_title(COUNT.model_copy(update={"prompt": prompt}))

    assert title("Some facts. How many\nare there? Answer.") == "How many are there?"
    assert title("Give the next row. Answer with a dict.") == "Give the next row."
    assert len(title("word " * 100)) <= 111


@given(number=st.one_of(st.integers(-(10**9), 10**9), st.floats(-1e6, 1e6)))
def test_a_number_is_the_same_as_its_text(number):
    assert as_number(str(number)) == as_number(number) == float(number)


@given(number=st.integers(0, 10**12))
def test_a_number_may_be_grouped_by_thousands(number):
    assert as_number(f"{number:,}") == number
    assert as_number(f"{number:_}") == number


@pytest.mark.parametrize("value", [None, True, "", "x", "1/0", "nan", "inf", {}, (1, 2), "1,2"])
def test_what_is_no_number_is_none(value):
    assert as_number(value) is None


@given(shape=st.lists(st.integers(0, 10**6), min_size=1, max_size=6))
def test_a_shape_is_the_same_as_its_text(shape):
    for value in (shape, tuple(shape), str(shape), str(tuple(shape)), f"torch.Size({shape})"):
        assert as_shape(value) == tuple(shape)
    if len(shape) > 1:
        assert as_shape("x".join(map(str, shape))) == tuple(shape)


@pytest.mark.parametrize("value", [None, 3, "3", "a", "(2, a)", "-1x2", (1.0,), (True,), {}])
def test_what_is_no_shape_is_none(value):
    assert as_shape(value) is None


@given(
    value=st.recursive(
        st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20),
        lambda inner: (
            st.lists(inner, max_size=4)
            | st.dictionaries(st.text(max_size=5) | st.integers(), inner, max_size=4)
        ),
        max_leaves=8,
    )
)
def test_any_literal_is_marked_without_an_error(value):
    for question in QUESTIONS.questions[:-1]:
        result = mark(question, value)
        assert 0 <= result.right <= result.parts


@pytest.mark.parametrize("question", [COUNT, WORDS, OPEN], ids=lambda question: question.id)
@pytest.mark.parametrize(
    "text",
    ["0x" + "f" * 5000, " * ".join(["10 ** 64"] * 70), "1e308 * 10", "(1e308 * 10) * 0"],
    ids=["long", "product", "infinite", "not a number"],
)
def test_a_number_of_any_size_is_an_answer_like_any_other(question, text):
    submission = read({"a.py": f"ANSWERS = {{'{question.id}': {text}}}\n".encode()}, "a")
    milestone, _ = questions_row(QUESTIONS, submission.sources.values())
    assert milestone.score == 0


@pytest.mark.parametrize("text", ["\\ud800", "\\udc80", "\\x00\\x1b[31m"])
@pytest.mark.parametrize("question", [CHOICE, OPEN], ids=lambda question: question.id)
def test_an_answer_of_any_characters_can_be_written_into_a_report(question, text):
    submission = read({"a.py": f"ANSWERS = {{'{question.id}': '{text} x'}}\n".encode()}, "a")
    milestone, _ = questions_row(QUESTIONS, submission.sources.values())
    again = type(milestone).model_validate_json(milestone.model_dump_json())
    assert [row.id for row in again.checks] == [row.id for row in milestone.checks]
