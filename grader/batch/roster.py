"""Who is in the class: the rows of a site's roster, found by any id of a student."""

import csv
import io
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from grader.errors import InputError
from grader.intake.text import decode

# Columns of ids as the sites call them, in the order in which they make a key: the institution's
# own number, the login, the address, and last the numbers that hold on one site only.
ID_COLUMNS = (
    "id number",  # Moodle's grading worksheet
    "sis user id",  # Canvas's gradebook
    "student id",  # Blackboard's grade centre
    "sid",  # Gradescope
    "student number",
    "matriculation number",
    "identifier",  # GitHub Classroom, as the teacher chose it; Moodle's comes last, see `_rank`
    "sis login id",
    "username",
    "user name",
    "login id",
    "login",
    "github_username",
    "github username",
    "email address",
    "email",
    "e-mail",
    "id",  # Canvas's number of the user
    "user id",
    "userid",
    "integration id",
    "github_id",
    "submission id",  # Gradescope's export of scores
)
DELIMITERS = ",;\t"
SAMPLE = 8192  # characters that tell the delimiter
ADDRESS = re.compile(r"[^@\s]+@[^@\s]+")
WORDS = {"id", "ids", "number", "no", "nr", "code", "login", "user", "username", "account"}


@dataclass(frozen=True)
class Row:
    """A student.

    Attributes:
        key: the id that comes first in the order of `ID_COLUMNS`, of those that the row holds and
            no other row does.
        columns: the row as read, by header.
    """

    key: str
    columns: dict[str, str]


class Roster:
    """A class list.

    Attributes:
        rows: the students, in the file's order.
        ambiguous: ids that stand for more than one row, so that they find none.
        without_id: the lines that name somebody but hold no id.
        headers: the columns, in the file's order.
        others: the lines of Canvas that are no student, such as the points that are possible.
    """

    def __init__(
        self,
        rows: list[tuple[list[str], dict[str, str]]],
        without_id: list[int],
        headers: Sequence[str] = (),
        others: Sequence[dict[str, str]] = (),
    ) -> None:
        holders: dict[str, set[int]] = {}
        for number, (ids, _) in enumerate(rows):
            for value in ids:
                holders.setdefault(_plain(value), set()).add(number)
        self.ambiguous = sorted(value for value, of in holders.items() if len(of) > 1)
        self.without_id = without_id
        self.headers = tuple(headers)
        self.others = tuple(others)
        self.rows = [
            Row(next((i for i in ids if len(holders[_plain(i)]) == 1), ids[0]), columns)
            for ids, columns in rows
        ]
        self._found = {value: self.rows[min(of)] for value, of in holders.items() if len(of) == 1}

    @classmethod
    def parse(cls, text: str, name: str) -> "Roster":
        """Reads a class list.

        Rows that stand there twice, the same in every column, count once.

        Args:
            text: CSV with a first line of headers, parted by commas, semicolons or tabs.
            name: what to call the file in a message.

        Raises:
            InputError: it is empty, is no CSV, or has no column of ids.
        """
        text = text.removeprefix("\ufeff")
        try:
            lines = _read(text)
        except csv.Error as error:
            raise InputError(f"{name} cannot be read as CSV ({error}): export it again.") from error
        if not lines:
            raise InputError(f"{name} is empty: a roster has a line of headers, and one a student.")
        headers, body = [header.strip() for header in lines[0][1]], lines[1:]
        if not body:
            raise InputError(f"{name} has headers but no students: export it again.")
        cells = [_widened(row, len(headers)) for _, row in body]
        order = _id_columns(headers, cells)
        if not order:
            raise InputError(
                f"{name} has no column of ids: its first line must name one, "
                "such as ID, Username or Email."
            )
        rows: list[tuple[list[str], dict[str, str]]] = []
        without_id = []
        others = []
        seen = set()
        for (line, _), row in zip(body, cells, strict=True):
            columns: dict[str, str] = {}
            for header, value in zip(headers, row, strict=True):
                columns.setdefault(header, value)
            if tuple(row) in seen:
                continue
            seen.add(tuple(row))
            if _is_no_student(columns):
                others.append(columns)
                continue
            ids = [value for value in (_id(row[column]) for column in order) if value]
            if ids:
                rows.append((ids, columns))
            else:
                without_id.append(line)
        if not rows:
            raise InputError(f"{name} holds no id of any student: export it again.")
        return cls(rows, without_id, headers, others)

    def find(self, student: str) -> Row | None:
        """The row that holds an id, or None where none does, or more than one.

        Only columns of ids count, and only the whole id, whatever the case of its letters; an
        address is matched whole. A person's name finds nobody.
        """
        return self._found.get(_plain(student))


def _read(text: str) -> list[tuple[int, list[str]]]:
    """The rows that hold anything, each with the number of its last line."""
    stated = re.match(rf"sep=([{DELIMITERS}])\r?\n", text)  # Excel's way of telling
    delimiter = stated[1] if stated else _delimiter(text)
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=delimiter)
    rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader]
    return [(line, row) for line, row in rows[bool(stated) :] if any(row)]


def _delimiter(text: str) -> str:
    """What parts the columns: what is sniffed, if the headers hold it, else the commonest there."""
    first = re.sub(r'"[^"]*"', "", next(filter(str.strip, text.splitlines()), ""))
    try:
        sniffed = csv.Sniffer().sniff(text[:SAMPLE], DELIMITERS).delimiter
    except csv.Error:
        sniffed = ""
    if sniffed and sniffed in first:
        return sniffed
    return max(DELIMITERS, key=first.count)


def _widened(row: list[str], width: int) -> list[str]:
    return (row + [""] * width)[:width]


def _id_columns(headers: list[str], cells: list[list[str]]) -> list[int]:
    """Which columns hold ids, best first.

    Those that a site calls so; with columns of addresses, whatever their header; where there are
    none, any whose header says so, and whose values are each an id and mostly different. A first
    line that itself holds an id is none of headers.
    """
    simple = [re.sub(r"\s+", " ", header).casefold() for header in headers]
    addresses = ID_COLUMNS.index("email")
    ranks = {n: _rank(h, simple) for n, h in enumerate(simple) if h in ID_COLUMNS}
    for column in range(len(headers)):
        values = [row[column] for row in cells if row[column]]
        if "@" not in headers[column] and values and all(map(ADDRESS.fullmatch, values)):
            ranks.setdefault(column, addresses)
    if not ranks:
        for column, header in enumerate(simple):
            values = [row[column] for row in cells if row[column]]
            says = WORDS & set(re.split(r"[\W_]+", header)) or len(headers) == 1
            if says and values and _are_ids(values) and not _are_ids([headers[column]]):
                ranks[column] = 0
    return sorted(ranks, key=lambda column: (ranks[column], column))


def _rank(header: str, headers: list[str]) -> int:
    if header == "identifier" and "github_username" not in headers:
        return len(ID_COLUMNS)  # Moodle's, which is good for one assignment
    return ID_COLUMNS.index(header)


def _are_ids(values: list[str]) -> bool:
    return 2 * len(set(values)) > len(values) and all(
        re.fullmatch(r"\S*[0-9@]\S*", v) and not re.fullmatch(r"[0-9]+[.,][0-9]+", v)
        for v in values
    )


def _id(value: str) -> str:
    """A cell as an id; "" where it is none: words with spaces between them are a name."""
    if participant := re.fullmatch(r"participant\s*([0-9]+)", value, re.IGNORECASE):
        return participant[1]  # as in Moodle's worksheet; its files bear the number alone
    return "" if re.search(r"\s", value) else value


def _plain(value: str) -> str:
    return _id(value.strip()).casefold()


def _is_no_student(columns: dict[str, str]) -> bool:
    """Whether it is one of the lines with which Canvas begins: what is posted, points possible."""
    names = {header.casefold(): value.casefold() for header, value in columns.items()}
    is_canvas = {"student", "id", "section"} <= names.keys()
    return is_canvas and not names["id"] and names["student"] in ("", "points possible")


def read_roster(path: Path) -> Roster:
    """The class list in a file; raises InputError."""
    try:
        data = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}.") from None
    return Roster.parse(decode(path.name, data), path.name)
