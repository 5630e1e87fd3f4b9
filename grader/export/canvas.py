"""Canvas's gradebook, as it imports it."""

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

# Canvas's columns, each with what class lists call the same.
IDS = {
    "ID": ("id",),
    "SIS User ID": ("sis user id", "student id", "id number", "student number", "sid"),
    "SIS Login ID": ("sis login id", "login id", "login", "username", "user name"),
}
NAMES = ("student", "name", "full name")
ASSIGNMENT = re.compile(r"\S\s*\([0-9]+\)\s*$")


def write(source: Source, wanted: Wanted) -> Written:
    """The file.

    Raises:
        InputError: the class list has no id of Canvas's, or its column cannot be told.
    """
    roster = wanted.roster
    joined = join(source, roster, _placed)
    headers = roster.headers if roster is not None else ()
    assignment = source.assignment()
    found = column_of(headers, wanted.column, assignment, ASSIGNMENT)
    column = found or wanted.column or assignment.replace("_", " ")
    if not ASSIGNMENT.search(column):
        joined.told.append(
            f"The column {column!r} has no number of Canvas's, so importing it makes a new "
            "assignment; with --roster, Canvas's own export tells the number."
        )
    possible = wanted.max_score
    for line in roster.others if roster is not None else ():
        if value_of(line, ("student",)).casefold() == "points possible":
            possible = possible or number(line.get(column, ""))
    tell_scale(joined, possible)
    if not any(value_of(s.columns, names) for s in joined.students for names in IDS.values()):
        raise InputError(
            "The class list has no ID, SIS User ID or SIS Login ID: export the gradebook from "
            "Canvas and name it with --roster."
        )
    return Written(written(_lines(joined, column, possible)), tuple(joined.told))


def _lines(joined: Joined, column: str, possible: Decimal | None) -> Iterator[list[str]]:
    yield ["Student", *IDS, "Section", column]
    yield ["    Points Possible", *[""] * (len(IDS) + 1), points(possible or joined.max_score)]
    for student in joined.students:
        score = grade(student, joined, possible)
        yield [
            value_of(student.columns, NAMES),
            *(value_of(student.columns, names) for names in IDS.values()),
            value_of(student.columns, ("section",)),
            student.columns.get(column, "") if score is None else score,
        ]


def _placed(name: str) -> dict[str, str]:
    """The columns of somebody of whom an id is known: Canvas's downloads bear its own numbers."""
    return {"ID" if name.isdigit() else "SIS Login ID": name}


FORMAT = Format("canvas", "Canvas's gradebook, to import", write, ("max_score", "roster", "column"))
