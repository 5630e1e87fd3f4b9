"""Moodle's gradebook, as it imports it; or an assignment's grading worksheet, filled in.

Moodle takes feedback only together with the grade, so a line has both or neither.
"""

import re
from collections.abc import Iterator
from decimal import Decimal

from grader.batch.roster import Roster
from grader.errors import InputError
from grader.export.base import Format, Source, Wanted, Written
from grader.export.sites import (
    Joined,
    Student,
    column_of,
    escaped,
    grade,
    join,
    number,
    tell_scale,
    value_of,
    written,
)

EMAIL = ("email address", "email", "e-mail", "e-mail address", "mail")
NUMBER = ("id number", "sis user id", "student id", "student number", "sid")
WORKSHEET = ("identifier", "grade")
GRADE, FEEDBACK, MOST = "Grade", "Feedback comments", "Maximum grade"
ITEM = re.compile(r"\((Real|Percentage|Letter)\)\s*$")


def write(source: Source, wanted: Wanted) -> Written:
    """The file; raises InputError where the class list has neither address nor number."""
    roster = wanted.roster
    joined = join(source, roster, _placed)
    if roster is not None and _is_worksheet(roster):
        lines, possible = _worksheet(joined, roster, wanted.max_score)
        tell_scale(joined, possible)
        return Written(written(iter(lines)), tuple(joined.told))
    headers = roster.headers if roster is not None else ()
    column = column_of(headers, wanted.column, source.assignment(), ITEM)
    tell_scale(joined, wanted.max_score)
    lines = list(_gradebook(joined, column or wanted.column or GRADE, wanted.max_score))
    return Written(written(iter(lines)), tuple(joined.told))


def _is_worksheet(roster: Roster) -> bool:
    return {*WORKSHEET} <= {header.casefold() for header in roster.headers}


def _worksheet(
    joined: Joined, roster: Roster, most: Decimal | None
) -> tuple[list[list[str]], Decimal | None]:
    """The worksheet as Moodle gave it, with grades and feedback where there are any."""
    names = {header.casefold(): header for header in roster.headers}
    headers = list(dict.fromkeys(roster.headers))
    feedback = names.get(FEEDBACK.casefold())
    lines = [headers]
    scales = set()
    for student in joined.students:
        columns = dict(student.columns)
        possible = most or number(value_of(columns, (MOST.casefold(),)))
        score = grade(student, joined, possible)
        if score is not None:
            scales.add(possible)
            columns[names[GRADE.casefold()]] = score
            if feedback is not None:
                columns[feedback] = escaped(student.summary)
        lines.append([columns.get(header, "") for header in headers])
    return lines, scales.pop() if len(scales) == 1 else None


def _gradebook(joined: Joined, column: str, most: Decimal | None) -> Iterator[list[str]]:
    graded = [student for student in joined.students if student.graded is not None]
    addresses, numbers = (
        sum(bool(value_of(student.columns, names)) for student in graded)
        for names in (EMAIL, NUMBER)
    )
    by_number = numbers > addresses  # whichever leaves out fewer
    if graded and not addresses and not numbers:
        raise InputError(
            "The class list has neither Email address nor ID number, by which Moodle knows its "
            "students: export the grades from Moodle and name them with --roster."
        )
    yield ["ID number" if by_number else "Email address", column, FEEDBACK]
    without = []
    for student in joined.students:
        who = value_of(student.columns, NUMBER if by_number else EMAIL)
        score = grade(student, joined, most)
        if not who:
            without.append(student)
        elif score is not None:
            yield [who, score, escaped(student.summary)]
    if without:
        _tell_without(joined, without, by_number)


def _tell_without(joined: Joined, without: list[Student], by_number: bool) -> None:
    ids = ", ".join(student.key for student in without[:40])
    what = "ID number" if by_number else "Email address"
    joined.told.append(f"Without {what}, so in no line of the file: {ids}")


def _placed(name: str) -> dict[str, str]:
    return {"Email address" if "@" in name else "ID number": name}


FORMAT = Format(
    "moodle",
    "Moodle's gradebook or grading worksheet, to import",
    write,
    ("max_score", "roster", "column"),
)
