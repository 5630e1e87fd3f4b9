"""Canvas's gradebook, as it imports it."""

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
    join,
    number,
    tell_formulas,
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
    joined, roster = join(source, wanted)
    assignment = source.assignment()
    found = column_of(roster.headers, wanted, assignment, ASSIGNMENT)
    column = found or wanted.column or assignment.replace("_", " ")
    if ASSIGNMENT.search(column):
        joined.told.append(f"The grades are in the column {column!r}.")
    else:
        joined.told.append(
            f"The column {column!r} has no number of Canvas's, so importing it makes a new "
            "assignment of that name."
        )
    possible = None
    for line in roster.others:
        if value_of(line, ("student",)).casefold() == "points possible":
            possible = number(line.get(column, ""))
    possible = tell_scale(joined, wanted, possible)
    if not any(value_of(s.columns, names) for s in joined.students for names in IDS.values()):
        raise InputError(
            "The class list has no ID, SIS User ID or SIS Login ID: export the gradebook from "
            "Canvas and name it with --roster."
        )
    text = written(_lines(joined, column, possible))
    tell_formulas(joined, (value_of(s.columns, n) for s in joined.students for n in IDS.values()))
    return Written(text, joined.sentences())


def _lines(joined: Joined, column: str, possible: Decimal | None) -> Iterator[list[str]]:
    yield ["Student", *IDS, "Section", column]
    yield ["    Points Possible", *[""] * (len(IDS) + 1), points(possible or joined.max_score)]
    for student in joined.students:
        before = student.columns.get(column, "")
        score = grade(student, joined, possible)
        yield [
            value_of(student.columns, NAMES),
            *(value_of(student.columns, names) for names in IDS.values()),
            value_of(student.columns, ("section",)),
            before if score is None else entered(student, joined, score, before),
        ]


FORMAT = Format("canvas", "Canvas's gradebook, to import", write, ("max_score", "roster", "column"))
