"""Grades the answers to an assignment's questions; nothing of the submission runs for it."""

import math
import re
import unicodedata
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_DOWN, Decimal
from typing import Any

from grader.assignment.questions import (
    MILESTONE,
    Buckets,
    Choice,
    NumberQuestion,
    Open,
    Question,
    Questions,
    Shape,
    Steps,
    Table,
)
from grader.intake import Location, Note, Source
from grader.intake.answers import Answer, read_answers
from grader.intake.definitions import nearest_name
from grader.report import CheckRow, MilestoneRow, Place

CENT = Decimal("0.01")
MAX_STRANGERS = 5  # answers to no question of the assignment that are named
MAX_SHOWN = 4000  # characters of an answer that are kept in a report


@dataclass(frozen=True)
class Mark:
    """What an answer is worth.

    Attributes:
        right: how many of its parts are right.
        parts: how many there are.
        message: what is wrong.
    """

    right: int
    parts: int = 1
    message: str = ""


def questions_row(
    questions: Questions, sources: Iterable[Source]
) -> tuple[MilestoneRow, list[Note]]:
    """The milestone of the questions, and notes on answers that belong to no question.

    Args:
        questions: of the assignment.
        sources: the submission's modules, those that are graded first.
    """
    answers, notes = read_answers(sources)
    ids = {question.id for question in questions.questions}
    strangers = [name for name in answers if name not in ids]
    for name in strangers[:MAX_STRANGERS]:
        near = nearest_name(name, ids)
        hint = f"; the nearest is `{near}`" if near else ""
        message = f"`{name}` is no question of this assignment{hint}."
        notes.append(Note("note", message, answers[name].location))
    rows = tuple(_row(question, answers.get(question.id)) for question in questions.questions)
    return milestone(questions, rows), notes


def milestone(questions: Questions, rows: Sequence[CheckRow]) -> MilestoneRow:
    """The milestone that the questions are, of these rows."""
    return MilestoneRow.of(MILESTONE, questions.title, questions.points, rows)


def question_title(question: Question) -> str:
    """The sentence of a prompt that asks, or else its first one, cut to a line."""
    sentences = re.split(r"(?<=[.?:])\s", " ".join(question.prompt.split()))
    first = next((s for s in sentences if s.endswith("?")), sentences[0])
    return first if len(first) <= 110 else first[:109].rsplit(" ", 1)[0] + " …"


def _row(question: Question, answer: Answer | None) -> CheckRow:
    """A question's row, before any person's mark."""
    base = CheckRow(
        id=question.id,
        title=question_title(question),
        status="blocked",
        score=Decimal(0),
        max_score=question.points,
        message="Not answered: nothing in ANSWERS.",
    )
    if answer is None or _is_empty(answer.value):
        return base
    place = _place(answer.location)
    shown = _shown(answer.value)
    if isinstance(question, Open):
        message = "Waits for a person's mark."
        return base.model_copy(
            update={"status": "review", "message": message, "got": shown, "location": place}
        )
    result = mark(question, answer.value)
    if result.right == result.parts:
        return base.model_copy(
            update={"status": "passed", "score": question.points, "message": None}
        )
    share = question.points * result.right / result.parts
    return base.model_copy(
        update={
            "status": "failed",
            "score": share.quantize(CENT, ROUND_DOWN),
            "message": f"{result.message} {question.explanation}".strip(),
            "got": shown,
            "lesson": question.lesson,
            "location": place,
        }
    )


def mark(question: Question, value: Any) -> Mark:
    """How much of an answer is right.

    Args:
        question: one that is graded by machine.
        value: the literal that the submission holds.
    """
    match question:
        case Choice():
            return _mark_choice(question, value)
        case NumberQuestion():
            wanted = (question.answer, *question.also)
            right = any(_same_number(value, number, question.tolerance) for number in wanted)
            message = "" if as_number(value) is not None else "The answer is to be a number."
            return Mark(int(right), 1, message)
        case Shape():
            given = as_shape(value)
            message = "" if given is not None else "The answer is to be a shape, such as (2, 3)."
            return Mark(int(given == question.answer), 1, message)
        case Table():
            return _mark_table(question, value)
        case Buckets():
            return _mark_buckets(question, value)
        case Steps():
            return _mark_steps(question, value)
        case Open():
            raise ValueError("an open question is marked by a person")


def _mark_choice(question: Choice, value: Any) -> Mark:
    letter = _letter(question, value)
    if letter is None:
        return Mark(0, 1, f"The answer is to be one of {', '.join(question.options)}.")
    return Mark(int(letter == question.answer), 1, question.tempting.get(letter, ""))


def _letter(question: Choice, value: Any) -> str | None:
    """The option that is meant: by its letter, or by its text."""
    if isinstance(value, (list, tuple)) and len(value) == 1:
        value = value[0]
    if not isinstance(value, str):
        return None
    texts = {plain(text): letter for letter, text in question.options.items()}
    if plain(value) in texts:
        return texts[plain(value)]
    found = re.match(r"^\W*([A-Ha-h])(?:\W|$)", value.strip())
    return found[1].upper() if found and found[1].upper() in question.options else None


def _mark_table(question: Table, value: Any) -> Mark:
    cells = _by_label(value, question.rows)
    wrong = []
    for row, answer in zip(question.rows, question.answer, strict=True):
        accepted = (answer, *question.accept.get(row, ()))
        given = cells.get(row)
        if not any(_same_cell(given, cell, question.tolerance) for cell in accepted):
            wrong.append(row)
    return _parts(wrong, len(question.rows), "row")


def _mark_buckets(question: Buckets, value: Any) -> Mark:
    given = _by_label(_by_item(question, value), list(question.answer))
    wrong = [
        item
        for item, bucket in question.answer.items()
        if not isinstance(given.get(item), str) or plain(given[item]) != plain(bucket)
    ]
    return _parts(wrong, len(question.answer), "item")


def _by_item(question: Buckets, value: Any) -> Any:
    """Buckets with lists of items, turned into items with their buckets."""
    if not isinstance(value, Mapping):
        return value
    names = {plain(bucket) for bucket in question.buckets}
    lists = all(isinstance(items, (list, tuple)) for items in value.values())
    if lists and {plain(str(key)) for key in value} <= names:
        return {str(item): str(key) for key, items in value.items() for item in items}
    return value


def _mark_steps(question: Steps, value: Any) -> Mark:
    columns = list(question.answer)
    given = _by_label(value, columns)
    wrong = [
        column
        for column in columns
        if not _same_cell(given.get(column), question.answer[column], question.tolerance)
    ]
    result = _parts(wrong, len(columns), "column")
    return Mark(int(not wrong), 1, result.message)  # some columns only count the rows


def _parts(wrong: list[str], count: int, what: str) -> Mark:
    message = f"Not right: {what} {', '.join(wrong)}." if wrong else ""
    return Mark(count - len(wrong), count, message)


def _by_label(value: Any, labels: Sequence[str]) -> dict[str, Any]:
    """Cells by label, from a dict or from a list in the labels' order."""
    if isinstance(value, Mapping):
        known = {plain(label): label for label in labels}
        return {
            known[plain(str(key))]: cell for key, cell in value.items() if plain(str(key)) in known
        }
    if isinstance(value, (list, tuple)) and len(value) == len(labels):
        return dict(zip(labels, value, strict=True))
    return {}


def _same_cell(given: Any, wanted: Any, tolerance: float) -> bool:
    if isinstance(wanted, (int, float)) and not isinstance(wanted, bool):
        return _same_number(given, wanted, tolerance)
    shape = as_shape(wanted)
    if shape is not None:
        return as_shape(given) == shape
    if isinstance(given, (int, float)) and not isinstance(given, bool):
        given = str(given)
    return isinstance(given, str) and plain(given) == plain(str(wanted))


def _same_number(given: Any, wanted: float, tolerance: float) -> bool:
    number = as_number(given)
    return number is not None and abs(number - wanted) <= tolerance + 1e-9 * abs(wanted)


def as_number(value: Any) -> float | None:
    """A number, or a text that is one: "8,416", "1/8", "4×"; None for anything else."""
    if isinstance(value, bool):
        return None
    if isinstance(value, (int, float)):
        try:
            number = float(value)
        except OverflowError:
            return None
        return number if math.isfinite(number) else None
    if isinstance(value, (list, tuple)) and len(value) == 1:
        return as_number(value[0])
    if not isinstance(value, str):
        return None
    text = unicodedata.normalize("NFKC", value).strip().replace("−", "-").rstrip("×xX*. ")
    text = re.sub(r"(?<=\d)[,_\s](?=\d{3}(\D|$))", "", text)
    fraction = re.fullmatch(r"([+-]?\d+(?:\.\d+)?)\s*/\s*(\d+(?:\.\d+)?)", text)
    try:
        if fraction:
            return float(fraction[1]) / float(fraction[2])
        number = float(text)
    except (ValueError, ZeroDivisionError):
        return None
    return number if math.isfinite(number) else None


def as_shape(value: Any) -> tuple[int, ...] | None:
    """A shape: a tuple or list of ints, or a text such as "(2, 4)" or "2x4"; None otherwise."""
    if isinstance(value, (list, tuple)):
        if all(isinstance(size, int) and not isinstance(size, bool) for size in value):
            return tuple(value)
        if len(value) == 1:
            return as_shape(value[0])
        return None
    if not isinstance(value, str):
        return None
    text = re.sub(r"(?i)torch\.size", "", unicodedata.normalize("NFKC", value)).strip()
    inner = text.strip("()[] ")
    if not re.fullmatch(r"\d+(\s*[,x×*]\s*\d+)*\s*,?", inner):
        return None
    if inner == text and "," not in inner and not re.search("[x×*]", inner):
        return None  # a number by itself
    return tuple(int(size) for size in re.findall(r"\d+", inner))


def plain(text: str) -> str:
    """A text as it is compared: without case, blanks, accents of form, or signs at its ends."""
    text = unicodedata.normalize("NFKC", text).casefold()
    text = text.replace("−", "-").replace("–", "-").replace("×", "x")
    return re.sub(r"\s+", "", text).strip(".,;:!?\"'`()[]")


def _is_empty(value: Any) -> bool:
    return value is None or (isinstance(value, (str, list, tuple, dict)) and not _filled(value))


def _filled(value: str | Sequence[Any] | Mapping[Any, Any]) -> bool:
    return bool(value.strip() if isinstance(value, str) else value)


def _shown(value: Any) -> str:
    text = value if isinstance(value, str) else repr(value)
    return text if len(text) <= MAX_SHOWN else text[: MAX_SHOWN - 1] + "…"


def _place(location: Location) -> Place:
    return Place(**vars(location))
