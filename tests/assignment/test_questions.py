"""Questions: files that do not hold together are told in a sentence, and the bundled ones hold."""

from decimal import Decimal

import pytest

from grader.assignment import assignment_ids, load_assignment
from grader.assignment.questions import Choice, Open, load_questions
from grader.errors import AssignmentError
from grader.grading.questions import mark, question_title
from grader.report.questions import FORMS, question_text

BASE = {"points": 0.1, "lesson": '"L"', "prompt": '"What?"', "explanation": '"So."'}
KINDS = {
    "choice": {"options": '{A = "a", B = "b"}', "answer": '"A"', "tempting": '{B = "no"}'},
    "number": {"answer": 1, "tolerance": 0},
    "shape": {"answer": "[1, 2]"},
    "table": {"rows": '["r", "s"]', "column": '"c"', "answer": "[1, 2]"},
    "buckets": {"buckets": '["x", "y"]', "answer": '{i = "x", j = "y"}'},
    "steps": {"rows": "[{n = 1, m = 2}]", "answer": "{n = 2, m = 4}"},
    "open": {"guide": '"Look."', "explanation": None},
}


def question(kind, name="one", **changes):
    fields = {"id": f'"{name}"', "kind": f'"{kind}"', **BASE, **KINDS.get(kind, {}), **changes}
    lines = [f"{key} = {value}" for key, value in fields.items() if value is not None]
    return "\n".join(["[[questions]]", *lines, ""])


@pytest.fixture
def load(tmp_path):
    def write(*questions, head='schema = "transformer-grader/questions/1"\ntitle = "T"\n'):
        (tmp_path / "questions.toml").write_text(head + "".join(questions))
        return load_questions(tmp_path)

    return write


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_is_read_as_it_is_written(load, kind):
    (found,) = load(question(kind)).questions
    assert (found.kind, found.id, found.prompt) == (kind, "one", "What?")
    assert str(found.points) == "0.1"


def test_a_folder_without_questions_has_none(tmp_path):
    assert load_questions(tmp_path) is None


def test_points_are_exact_decimals(load):
    loaded = load(*(question("number", f"q{n}", points=0.1) for n in range(3)))
    assert loaded.points == Decimal("0.3")


BAD = {
    "no TOML": (["this is none"], "cannot be read"),
    "no questions": ([], "questions"),
    "an unknown kind": ([question("essay")], "kind"),
    "an unknown field": ([question("number", colour='"red"')], "colour"),
    "no prompt": ([question("number", prompt=None)], "prompt"),
    "an empty prompt": ([question("number", prompt='" "')], "prompt"),
    "no explanation": ([question("number", explanation=None)], "explanation"),
    "no guide": ([question("open", guide=None)], "guide"),
    "an id with capitals": ([question("number", "One")], "id"),
    "no points": ([question("number", points=0)], "points"),
    "points below 0": ([question("number", points=-1)], "points"),
    "points that are no number": ([question("number", points='"many"')], "points"),
    "a negative tolerance": ([question("number", tolerance=-1)], "tolerance"),
    "an answer that is no number": ([question("number", answer='"one"')], "answer"),
    "the same id twice": ([question("number"), question("shape")], "same id"),
    "an answer that is no option": ([question("choice", answer='"C"')], "answer C is no option"),
    "a letter after H": (
        [question("choice", options='{A = "a", I = "b"}', tempting='{I = "no"}')],
        "options",
    ),
    "a wrong option that does not tempt": ([question("choice", tempting="{}")], "tempting"),
    "a right option that tempts": (
        [question("choice", tempting='{A = "no", B = "no"}')],
        "tempting",
    ),
    "a tempting letter that is no option": (
        [question("choice", tempting='{B = "no", C = "no"}')],
        "tempting",
    ),
    "a shape with a fraction": ([question("shape", answer="[1.5]")], "answer"),
    "fewer cells than rows": ([question("table", answer="[1]")], "one cell for each row"),
    "a row twice": ([question("table", rows='["r", "r"]')], "no row twice"),
    "accepted cells of no row": ([question("table", accept="{t = [1]}")], "not there"),
    "an item in no bucket": ([question("buckets", answer='{i = "z"}')], "bucket"),
    "a row with other columns": ([question("steps", rows="[{n = 1}]")], "columns"),
}


@pytest.mark.parametrize(("questions", "word"), BAD.values(), ids=BAD)
def test_a_file_that_does_not_hold_together_is_told_in_a_sentence(load, questions, word):
    with pytest.raises(AssignmentError, match=word) as info:
        load(*questions)
    assert "questions.toml" in str(info.value)
    assert len(str(info.value).splitlines()) == 1


@pytest.mark.parametrize("head", ["", 'schema = "other/1"\ntitle = "T"\n'])
def test_a_file_of_another_schema_is_refused(load, head):
    with pytest.raises(AssignmentError, match="schema"):
        load(question("number"), head=head)


def test_a_file_that_is_no_text_is_refused(tmp_path):
    (tmp_path / "questions.toml").write_bytes(b"\xff\xfe\x00")
    with pytest.raises(AssignmentError, match="cannot be read"):
        load_questions(tmp_path)


# those that are bundled

BUNDLED = [
    pytest.param(question, id=f"{name}/{question.id}")
    for name in assignment_ids()
    for question in load_assignment(name).questions.questions
]
ALL = [parameter.values[0] for parameter in BUNDLED]


def test_there_are_at_least_sixty_and_eight_open_ones():
    assert len(ALL) >= 60
    assert sum(isinstance(question, Open) for question in ALL) >= 8
    assert {type(question) for question in ALL} == set(FORMS)


@pytest.mark.parametrize("name", assignment_ids())
def test_the_questions_of_each_assignment_are_worth_two_points(name):
    loaded = load_assignment(name)
    assert loaded.questions.points == 2
    assert loaded.milestone_ids[-1] == "questions"
    assert loaded.points == 2 + sum(m.points for m in loaded.milestones)


def test_no_id_stands_twice_in_any_assignment():
    ids = [question.id for question in ALL]
    assert len(set(ids)) == len(ids)


@pytest.mark.parametrize("question", BUNDLED)
def test_every_question_says_why_where_to_read_and_how_to_answer(question):
    assert question.lesson.startswith("Lesson ")
    assert "Answer" in question.prompt or isinstance(question, Open)
    if isinstance(question, Open):
        assert len(question.guide) > 100
    else:
        assert len(question.explanation) > 20
    if isinstance(question, Choice):
        assert len(question.options) >= 3
        assert question.tempting.keys() == question.options.keys() - {question.answer}
        assert all(len(text) > 20 for text in question.tempting.values())


@pytest.mark.parametrize("question", BUNDLED)
def test_a_question_as_printed_gives_its_key_points_and_options_and_no_answer(question):
    text = question_text(question)
    assert text.startswith(f"{question.id}  (")
    assert f"({question.points.normalize():f}; " in text
    assert question.prompt in text
    if isinstance(question, Choice):
        assert all(f"{letter}. {o}" in text for letter, o in question.options.items())
        assert not any(why in text for why in question.tempting.values())
    if isinstance(question, Open):
        assert question.guide not in text
    else:
        assert question.explanation not in text


@pytest.mark.parametrize("question", BUNDLED)
def test_a_title_is_one_line(question):
    title = question_title(question)
    assert title.strip()
    assert "\n" not in title
    assert len(title) <= 111


@pytest.mark.parametrize("question", [p for p in BUNDLED if not isinstance(p.values[0], Open)])
def test_the_answer_in_the_file_is_right(question):
    result = mark(question, question.answer)
    assert (result.right, result.message) == (result.parts, "")


@pytest.mark.parametrize("question", [p for p in BUNDLED if isinstance(p.values[0], Choice)])
def test_each_option_is_taken_by_letter_and_by_text_and_one_is_right(question):
    for letter, text in question.options.items():
        right = int(letter == question.answer)
        for value in (
            letter,
            letter.lower(),
            f"{letter}.",
            f"({letter})",
            text,
            f"{letter}. {text}",
        ):
            result = mark(question, value)
            assert result.right == right, value
            assert result.message == question.tempting.get(letter, ""), value
