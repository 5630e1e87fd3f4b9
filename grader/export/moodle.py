"""Moodle's gradebook, as it imports it; or an assignment's grading worksheet, filled in.

Moodle takes feedback only together with the grade, so a line has both or neither.
"""

import re
from collections import Counter
from collections.abc import Iterator
from decimal import Decimal

from grader.batch.roster import ADDRESS, Roster
from grader.errors import InputError
from grader.export.base import Format, Source, Wanted, Written
from grader.export.sites import (
    Graded,
    Joined,
    Student,
    column_of,
    entered,
    escaped,
    grade,
    join,
    number,
    tell_formulas,
    tell_scale,
    value_of,
    written,
)

EMAIL = ("email address", "email", "e-mail", "e-mail address", "mail")
NUMBER = ("id number", "sis user id", "student id", "student number", "sid")
WORKSHEET = {"identifier", "grade"}
GRADE, FEEDBACK = "Grade", "Feedback comments"
ITEM = re.compile(r"\((Real|Percentage|Letter)\)\s*$")


def write(source: Source, wanted: Wanted) -> Written:
    """The file; raises InputError where the class list has neither address nor number."""
    joined, roster = join(source, wanted)
    if {header.casefold() for header in roster.headers} >= WORKSHEET:
        lines = _worksheet(joined, roster, wanted)
    else:
        column = column_of(roster.headers, wanted, source.assignment(), ITEM)
        possible = tell_scale(joined, wanted, None)
        lines = list(_gradebook(joined, column or wanted.column or GRADE, possible))
    return Written(written(iter(lines)), joined.sentences())


def _worksheet(joined: Joined, roster: Roster, wanted: Wanted) -> list[list[str]]:
    """The worksheet as Moodle gave it, with grades and feedback where there are any."""
    names = {header.casefold(): header for header in roster.headers}
    headers = list(dict.fromkeys(roster.headers))
    column, feedback = names[GRADE.casefold()], names.get(FEEDBACK.casefold())
    most = {number(value_of(student.columns, ("maximum grade",))) for student in joined.students}
    possible = tell_scale(joined, wanted, most.pop() if len(most) == 1 else None)
    lines = [headers]
    for student in joined.students:
        columns = dict(student.columns)
        graded, score = student.graded, grade(student, joined, possible)
        if graded is not None and value_of(columns, ("grade can be changed",)).casefold() == "no":
            joined.kept.append(student.key)
        elif graded is not None and score is not None:
            before = columns.get(feedback, "") if feedback else ""
            columns[column] = entered(student, joined, score, columns.get(column, ""))
            if feedback is not None:
                columns[feedback] = _feedback(graded)
                if before and before != columns[feedback] and student.key not in joined.replaced:
                    joined.replaced.append(student.key)
        lines.append([columns.get(header, "") for header in headers])
    return lines


def _gradebook(joined: Joined, column: str, possible: Decimal | None) -> Iterator[list[str]]:
    graded = [student for student in joined.students if student.graded is not None]
    addresses, numbers = (
        Counter(filter(None, map(of, joined.students))) for of in (_address, _number)
    )
    by_address = sum(addresses[_address(student)] == 1 for student in graded)
    by_number = sum(numbers[_number(student)] == 1 for student in graded)
    if graded and not by_address and not by_number:
        raise InputError(
            "The class list has neither Email address nor ID number, by which Moodle knows its "
            "students: export the grades from Moodle and name them with --roster."
        )
    # Whichever leaves out fewer.
    what, of, counts = (
        ("ID number", _number, numbers)
        if by_number > by_address
        else ("Email address", _address, addresses)
    )
    yield [what, column, FEEDBACK]
    without, shared, ids = [], [], []
    for student in joined.students:
        who, score = of(student), grade(student, joined, possible)
        if student.graded is None or score is None:
            continue
        if not who:
            without.append(student.key)
        elif counts[who] > 1:
            shared.append(student.key)
        else:
            ids.append(who)
            before = student.columns.get(column, "")
            yield [who, entered(student, joined, score, before), _feedback(student.graded)]
    joined.tell(without, f"Without {what}, so in no line of the file")
    joined.tell(shared, f"With the {what} of somebody else, so in no line of the file")
    tell_formulas(joined, ids)


def _address(student: Student) -> str:
    """The address, under whatever header; Moodle's are in the language of the site."""
    known = value_of(student.columns, EMAIL)
    return known or next(filter(ADDRESS.fullmatch, student.columns.values()), "")


def _number(student: Student) -> str:
    return value_of(student.columns, NUMBER)


def _feedback(graded: Graded) -> str:
    return escaped(graded.feedback)


FORMAT = Format(
    "moodle",
    "Moodle's gradebook or grading worksheet, to import",
    write,
    ("max_score", "roster", "column"),
)
