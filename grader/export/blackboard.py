"""Blackboard's grade centre, as it imports it: every cell in quotes, a column by its number."""

import csv
import re
from collections.abc import Iterator
from decimal import Decimal

from grader.errors import InputError
from grader.export.base import Format, Source, Wanted, Written
from grader.export.sites import (
    Joined,
    column_of,
    grade,
    join,
    number,
    tell_scale,
    value_of,
    written,
)
from grader.report.terminal import points

USERNAME = ("username", "user name", "login id", "sis login id", "login", "user id")
COLUMN = re.compile(r"\|\s*[0-9]+\s*$")
POSSIBLE = re.compile(r"\[Total Pts:[^0-9\]]*([0-9]+(?:[.,][0-9]+)?)", re.IGNORECASE)


def write(source: Source, wanted: Wanted) -> Written:
    """The file.

    Raises:
        InputError: there is no user name, or no column with a number of Blackboard's.
    """
    roster = wanted.roster
    joined = join(source, roster, lambda name: {"Username": name})
    headers = roster.headers if roster is not None else ()
    assignment = source.assignment()
    column = column_of(headers, wanted.column, assignment, COLUMN) or wanted.column
    if column is None or not COLUMN.search(column):
        full = points(wanted.max_score or joined.max_score)
        raise InputError(
            "Blackboard knows a column by its number: name its download with --roster, or give "
            f'the header as there, --column "{column or assignment.replace("_", " ")} '
            f'[Total Pts: {full} Score] |NUMBER".'
        )
    said = POSSIBLE.search(column)
    possible = wanted.max_score or (number(said[1]) if said else None)
    tell_scale(joined, possible)
    return Written(written(_lines(joined, column, possible), csv.QUOTE_ALL), tuple(joined.told))


def _lines(joined: Joined, column: str, possible: Decimal | None) -> Iterator[list[str]]:
    yield ["Username", column]
    without = []
    for student in joined.students:
        who = value_of(student.columns, USERNAME)
        score = grade(student, joined, possible)
        if not who:
            without.append(student.key)
            continue
        yield [who, student.columns.get(column, "") if score is None else score]
    if len(without) == len(joined.students) and without:
        raise InputError(
            "The class list has no Username, by which Blackboard knows its students: download the "
            "grade centre and name it with --roster."
        )
    if without:
        joined.told.append(f"Without a user name, so in no line of the file: {', '.join(without)}")


FORMAT = Format(
    "blackboard",
    "Blackboard's grade centre, to upload",
    write,
    ("max_score", "roster", "column"),
)
