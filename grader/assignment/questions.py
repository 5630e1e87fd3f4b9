"""An assignment's questions: what is asked, what is right, and why wrong answers tempt."""

import tomllib
from decimal import Decimal
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import (
    BaseModel,
    ConfigDict,
    Field,
    StringConstraints,
    ValidationError,
    model_validator,
)

from grader.errors import AssignmentError

MILESTONE = "questions"  # the id of the milestone that they make, last in every assignment
Text = Annotated[str, StringConstraints(min_length=1, strip_whitespace=True)]
Slug = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9-]*$", max_length=60)]
Points = Annotated[Decimal, Field(gt=0, max_digits=6, decimal_places=2)]
Number = int | float
Cell = int | float | str | list[int]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class _Question(_Model):
    """What all kinds have.

    Attributes:
        id: the key of the answer in `ANSWERS`.
        points: what it is worth.
        lesson: what to reread.
        prompt: the question, complete in itself.
    """

    id: Slug
    points: Points
    lesson: Text
    prompt: Text


class _Checked(_Question):
    """A question that is graded by machine.

    Attributes:
        explanation: shown after a wrong answer.
    """

    explanation: Text


class Choice(_Checked):
    """One of several options.

    Attributes:
        options: by letter.
        answer: the right letter.
        tempting: for each wrong letter, why it tempts and what is wrong with it.
    """

    kind: Literal["choice"]
    options: dict[Annotated[str, StringConstraints(pattern=r"^[A-H]$")], Text]
    answer: str
    tempting: dict[str, Text]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if self.answer not in self.options:
            raise ValueError(f"the answer {self.answer} is no option")
        if self.tempting.keys() != self.options.keys() - {self.answer}:
            raise ValueError("`tempting` must have each wrong option, and only those")
        return self


class NumberQuestion(_Checked):
    """A number.

    Attributes:
        answer: the right one.
        tolerance: how far an answer may be off.
        also: other right ones.
    """

    kind: Literal["number"]
    answer: Number
    tolerance: Annotated[float, Field(ge=0)]
    also: tuple[Number, ...] = ()


class Shape(_Checked):
    """The shape of a tensor."""

    kind: Literal["shape"]
    answer: tuple[int, ...]


class Table(_Checked):
    """A column of a table.

    Attributes:
        rows: the rows' labels.
        column: its heading.
        answer: its cells, in the order of the rows.
        tolerance: of numbers.
        accept: further right cells of a row.
    """

    kind: Literal["table"]
    rows: tuple[Text, ...]
    column: Text
    answer: tuple[Cell, ...]
    tolerance: Annotated[float, Field(ge=0)] = 0.0
    accept: dict[str, tuple[Cell, ...]] = {}

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if len(self.answer) != len(self.rows) or len(set(self.rows)) != len(self.rows):
            raise ValueError("there must be one cell for each row, and no row twice")
        if not self.accept.keys() <= set(self.rows):
            raise ValueError("`accept` names a row that is not there")
        return self


class Buckets(_Checked):
    """Items to be sorted into buckets.

    Attributes:
        buckets: their names.
        answer: the bucket of each item.
    """

    kind: Literal["buckets"]
    buckets: tuple[Text, ...]
    answer: dict[Text, Text]

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if not set(self.answer.values()) <= set(self.buckets):
            raise ValueError("an item is in a bucket that is not there")
        return self


class Steps(_Checked):
    """The next row of a table.

    Attributes:
        rows: those that are shown.
        answer: the next one.
        tolerance: of its numbers.
    """

    kind: Literal["steps"]
    rows: tuple[dict[str, Cell], ...]
    answer: dict[str, Cell]
    tolerance: Annotated[float, Field(ge=0)] = 0.0

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        if any(row.keys() != self.answer.keys() for row in self.rows):
            raise ValueError("the rows must have the columns of the answer")
        return self


class Open(_Question):
    """A question that is answered in words and marked by a person.

    Attributes:
        guide: what a good answer holds, for whoever marks it.
    """

    kind: Literal["open"]
    guide: Text


Question = Choice | NumberQuestion | Shape | Table | Buckets | Steps | Open


class Questions(_Model):
    """The questions of an assignment (schema transformer-grader/questions/1)."""

    schema_: Literal["transformer-grader/questions/1"] = Field(alias="schema")
    title: Text
    questions: Annotated[
        tuple[Annotated[Question, Field(discriminator="kind")], ...], Field(min_length=1)
    ]

    @property
    def points(self) -> Decimal:
        """The sum of their points."""
        return sum((question.points for question in self.questions), Decimal(0))

    @model_validator(mode="after")
    def _is_consistent(self) -> Self:
        ids = [question.id for question in self.questions]
        if len(set(ids)) != len(ids):
            raise ValueError("two questions have the same id")
        return self


def load_questions(folder: Path) -> Questions | None:
    """The questions of the assignment in a folder; None where it has none.

    Raises:
        AssignmentError: the file is not as it must be.
    """
    path = folder / "questions.toml"
    if not path.exists():
        return None
    try:
        text = path.read_text(encoding="utf-8")
        return Questions.model_validate(_with_decimals(tomllib.loads(text)))
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AssignmentError(f"{path} cannot be read: {error}") from None
    except ValidationError as error:
        raise AssignmentError(f"{path} is no file of questions: {told(error)}") from None


def told(error: ValidationError) -> str:
    """What is wrong with a file, in a line: each place and what is said of it."""
    return "; ".join(
        f"{'.'.join(str(part) for part in problem['loc'])}: {problem['msg']}"
        for problem in error.errors()
    )


def _with_decimals(data: dict[str, Any]) -> dict[str, Any]:
    """The data with points as exact decimals; the other numbers stay floats."""
    for question in data.get("questions", []):
        if isinstance(question, dict) and isinstance(question.get("points"), (int, float)):
            question["points"] = Decimal(str(question["points"]))
    return data
