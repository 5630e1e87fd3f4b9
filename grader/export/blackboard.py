"""Blackboard's grade centre, as it imports it: every cell in quotes, a column by its number."""

import re
from collections.abc import Iterator
from decimal import Decimal

from grader.errors import InputError
from grader.export.base import Format, Source, Wanted, Written
from grader.export.sites import (
    Joined,
    column_of,
    entered,
    grade,
    is_number,
    join,
    number,
    tell_formulas,
    tell_scale,
    value_of,
    written,
)
from grader.report.terminal import points

USERNAME = ("username", "user name", "login id", "sis login id", "login", "user id")
COLUMN = re.compile(r"\|\s*[0-9]+\s*$")
POSSIBLE = re.compile(r"\[Total Pts:[^0-9\]]*([0-9][0-9.,]*)", re.IGNORECASE)


def write(source: Source, wanted: Wanted) -> Written:
    """The file.

    Raises:
        InputError: there is no user name, or no column with a number of Blackboard's.
    """
    joined, roster = join(source, wanted)
    assignment = source.assignment()
    column = column_of(roster.headers, wanted, assignment, COLUMN) or wanted.column
    if column is None or not COLUMN.search(column):
        full = points(wanted.max_score or joined.max_score)
        raise InputError(
            "Blackboard knows a column by its number: name its download with --roster, or give "
            f'the header as there, --column "{column or assignment.replace("_", " ")} '
            f'[Total Pts: {full} Score] |NUMBER".'
        )
    joined.told.append(f"The grades are in the column {column!r}.")
    said = POSSIBLE.search(column)
    possible = tell_scale(joined, wanted, number(said[1]) if said else None)
    text = written(_lines(joined, column, possible), quote_all=True)
    return Written(text, joined.sentences())


def _lines(joined: Joined, column: str, possible: Decimal | None) -> Iterator[list[str]]:
    yield ["Username", column]
    without, ids = [], []
    for student in joined.students:
        who = value_of(student.columns, USERNAME)
        score = grade(student, joined, possible)
        before = student.columns.get(column, "")
        before = before if is_number(before) else ""  # "Needs Grading" is none
        if not who:
            without.append(student.key)
            continue
        ids.append(who)
        yield [who, before if score is None else entered(student, joined, score, before)]
    if not ids and without:
        raise InputError(
            "The class list has no Username, by which Blackboard knows its students: download the "
            "grade centre and name it with --roster."
        )
    joined.tell(without, "Without a user name, so in no line of the file")
    tell_formulas(joined, ids)


FORMAT = Format(
    "blackboard",
    "Blackboard's grade centre, to upload",
    write,
    ("max_score", "roster", "column"),
)
