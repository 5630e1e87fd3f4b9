"""The store of a class: an SQLite file with a row for every grading, which only ever grows.

    gradings      one row a submission and grading, with its report; never changed, never removed
    submissions   whose each submission is, as the last run that saw it was told
    about         the version of this layout, and the assignment

A grading that is in the store is finished, whatever happens next; everything else in the folder can
be made from it and the marks. SQLite's log (WAL) makes each row whole or not there.
"""

import sqlite3
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from grader.batch.fingerprint import Circumstances
from grader.batch.folder import GRADEBOOK, REPORTS, STORE
from grader.errors import InputError
from grader.intake.text import writable
from grader.report import Report, read_report
from grader.report.summary import Summary

LAYOUT = "1"
UNWRITABLE = {sqlite3.SQLITE_READONLY, sqlite3.SQLITE_CANTOPEN, sqlite3.SQLITE_PERM}
WAIT_SECONDS = 20.0  # for another program that has the file open and writes
TABLES = """
CREATE TABLE IF NOT EXISTS about (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS submissions (
    submission TEXT PRIMARY KEY,
    file TEXT NOT NULL,
    student TEXT NOT NULL,
    attempt TEXT NOT NULL,
    late INTEGER NOT NULL,
    origin TEXT NOT NULL,
    place INTEGER NOT NULL
) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS gradings (
    number INTEGER PRIMARY KEY AUTOINCREMENT,
    submission TEXT NOT NULL,
    attempt TEXT NOT NULL,
    digest TEXT NOT NULL,
    assignment TEXT NOT NULL,
    grader TEXT NOT NULL,
    seed TEXT NOT NULL,
    status TEXT NOT NULL,
    score TEXT NOT NULL,
    begun TEXT NOT NULL,
    finished TEXT NOT NULL,
    seconds REAL NOT NULL,
    tries INTEGER NOT NULL,
    summary TEXT NOT NULL,
    report TEXT NOT NULL
);
CREATE INDEX IF NOT EXISTS gradings_of ON gradings (submission, number);
CREATE TRIGGER IF NOT EXISTS gradings_stay BEFORE DELETE ON gradings
    BEGIN SELECT raise(ABORT, 'gradings are never removed'); END;
CREATE TRIGGER IF NOT EXISTS gradings_stand BEFORE UPDATE ON gradings
    BEGIN SELECT raise(ABORT, 'gradings are never changed'); END;
"""
LATEST = """
SELECT s.submission, s.file, s.student, s.attempt, s.late, s.origin,
       g.number, g.digest, g.assignment, g.grader, g.seed, g.summary
FROM submissions s JOIN gradings g
  ON g.number = (SELECT max(number) FROM gradings WHERE submission = s.submission)
"""


@dataclass(frozen=True)
class Handed:
    """What a submission is called, and whose it is.

    Attributes:
        id: unique in the class.
        file: the name that it had on disk.
        student: ids of those who handed it in, with spaces between; "" where nobody says.
        attempt: which attempt it is, where the site tells them apart.
        late: whether the site marks it as late.
        origin: what tells it from others of the same name.
    """

    id: str
    file: str
    student: str = ""
    attempt: str = ""
    late: bool = False
    origin: str = ""


@dataclass(frozen=True)
class Kept:
    """The latest grading of a submission, without its report.

    Attributes:
        number: of the grading in the store.
        digest: of the submission's bytes, or of why they cannot be had.
    """

    handed: Handed
    number: int
    digest: str
    circumstances: Circumstances
    summary: Summary


@dataclass(frozen=True)
class Grading:
    """A grading that has just finished.

    Attributes:
        begun: when, in UTC, as ISO 8601.
        finished: likewise.
        tries: how often it was tried, more than once where a lane broke.
        report: its JSON, without the marks of any person.
    """

    handed: Handed
    digest: str
    circumstances: Circumstances
    begun: str
    finished: str
    tries: int
    summary: Summary
    report: str


class Store:
    """The store in a class's folder. Use it in a `with` statement, or `close` it.

    Every method raises InputError, which says what to do, where the file cannot be used.

    Args:
        out: the class's folder.
        assignment: the id of the assignment; made a new store for it where there is none. None to
            read a store that is there.
    """

    def __init__(self, out: Path, assignment: str | None = None) -> None:
        self.path = out / STORE
        is_new = not self.path.is_file() or self.path.stat().st_size == 0
        if is_new and assignment is None:
            raise InputError(f"{out} holds no {STORE}: name the --out of a class.")
        if is_new:
            _expect_room(out)
        with self._told():
            self._connection = (
                self._connect() if assignment is not None else self._connect_to_read()
            )
        try:
            with self._told():
                self._expect_layout(assignment)
        except BaseException:
            self._connection.close()
            raise

    def _connect(self) -> sqlite3.Connection:
        # isolation_level None: a statement is a transaction, unless one is begun.
        connection = sqlite3.connect(self.path, timeout=WAIT_SECONDS, isolation_level=None)
        connection.execute("PRAGMA journal_mode = WAL")
        connection.execute("PRAGMA synchronous = FULL")  # a power cut takes back no row
        return connection

    def _connect_to_read(self) -> sqlite3.Connection:
        """Open for reading, also on a disk that nobody can write to."""
        # Reading by the log needs a file beside it, which the last to write or read removes again.
        for how in ("mode=rw", "mode=ro&immutable=1"):
            uri = f"{self.path.absolute().as_uri()}?{how}"
            connection = sqlite3.connect(uri, uri=True, timeout=WAIT_SECONDS, isolation_level=None)
            try:
                connection.execute("PRAGMA query_only = ON")
                connection.execute("SELECT 1 FROM sqlite_master LIMIT 1").fetchone()
                break
            except sqlite3.OperationalError as error:
                connection.close()
                if error.sqlite_errorcode & 0xFF not in UNWRITABLE or "immutable" in how:
                    raise
        return connection

    def _expect_layout(self, assignment: str | None) -> None:
        """Make the tables where there are none; the assignment must be the store's."""
        if assignment is not None:
            # `executescript` would end a transaction that is on; each statement is one by itself,
            # and making what is there already changes nothing.
            self._connection.executescript(TABLES)
            fill = "INSERT OR IGNORE INTO about VALUES (?, ?)"
            for pair in (("layout", LAYOUT), ("assignment", assignment)):
                self._connection.execute(fill, pair)
        about = dict(self._connection.execute("SELECT key, value FROM about"))
        if about.get("layout") != LAYOUT:
            raise InputError(
                f"{self.path} was written by another version of the grader: name another --out."
            )
        self.assignment: str = about.get("assignment", "")
        if assignment not in (None, self.assignment):
            raise InputError(
                f"{self.path.parent} holds results of {self.assignment}, not of {assignment}: name "
                "another --out."
            )

    def latest(self) -> Iterator[Kept]:
        """The latest grading of every submission, in the order of the run that saw it last."""
        with self._told():
            yield from map(_kept, self._connection.execute(f"{LATEST} ORDER BY s.place"))

    def latest_of(self, submission: str) -> Kept | None:
        """The latest grading of one submission; None where there is none."""
        with self._told():
            query = f"{LATEST} WHERE s.submission = ?"
            row = self._connection.execute(query, (writable(submission),)).fetchone()
            return None if row is None else _kept(row)

    def origins(self) -> dict[str, str]:
        """What each id stands for: the origin of its submission."""
        with self._told():
            return dict(self._connection.execute("SELECT submission, origin FROM submissions"))

    def read(self, number: int) -> Report:
        """A grading's report, without marks."""
        with self._told():
            return read_report(self.report(number))

    def report(self, number: int) -> str:
        """The JSON of a grading's report, without marks."""
        with self._told():
            query = "SELECT report FROM gradings WHERE number = ?"
            (text,) = self._connection.execute(query, (number,)).fetchone()
        return str(text)

    def history(self, submission: str) -> list[tuple[str, str, str]]:
        """Every grading of a submission: when it finished, its digest, its score."""
        with self._told():
            query = (
                "SELECT finished, digest, score FROM gradings WHERE submission = ? ORDER BY number"
            )
            return list(self._connection.execute(query, (writable(submission),)))

    def add(self, grading: Grading) -> None:
        """Keep a grading: once this returns, it outlives the process and a power cut."""
        handed, where = grading.handed, grading.circumstances
        row = (
            handed.id, handed.attempt, grading.digest, where.assignment, where.grader, where.seed,
            grading.summary.status, str(grading.summary.score), grading.begun, grading.finished,
            grading.summary.seconds, grading.tries, grading.summary.model_dump_json(),
            grading.report,
        )  # fmt: skip
        places = ", ".join("?" * len(row))
        with self._told():
            self._connection.execute(
                "INSERT INTO gradings (submission, attempt, digest, assignment, grader, seed, "
                "status, score, begun, finished, seconds, tries, summary, report) "
                f"VALUES ({places})",
                tuple(writable(item) if isinstance(item, str) else item for item in row),
            )

    def see(self, handed: list[Handed]) -> None:
        """Note whose the submissions of a run are; others that were seen before come after them."""
        rows = [
            (
                *map(writable, (h.id, h.file, h.student, h.attempt)),
                h.late,
                writable(h.origin),
                place,
            )
            for place, h in enumerate(handed)
        ]
        with self._told(), self._connection:
            self._connection.execute("BEGIN IMMEDIATE")
            self._connection.execute("UPDATE submissions SET place = place + ?", (len(rows),))
            self._connection.executemany(
                "INSERT INTO submissions VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (submission) "
                "DO UPDATE SET file = excluded.file, student = excluded.student, "
                "attempt = excluded.attempt, late = excluded.late, origin = excluded.origin, "
                "place = excluded.place",
                rows,
            )

    def close(self) -> None:
        """Close the file; SQLite brings its log into it."""
        try:
            self._connection.close()
        except sqlite3.Error:
            pass  # what was added is in the log, from which the next run takes it

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    @contextmanager
    def _told(self) -> Iterator[None]:
        """Turn what SQLite raises into a sentence that says what to do."""
        try:
            yield
        except sqlite3.Error as error:
            raise InputError(_sentence(self.path, error)) from None
        except ValueError:
            raise InputError(_damaged(self.path, "what it holds is no report")) from None


def _expect_room(out: Path) -> None:
    """Raise InputError where a new store would have results around it that it knows nothing of."""
    for name in (REPORTS, GRADEBOOK):
        path = out / name
        if path.is_file() or (path.is_dir() and any(path.iterdir())):
            raise InputError(
                f"{out} holds {name} but no {STORE}, so what it is of cannot be told: name another "
                "--out."
            )


def _kept(row: Any) -> Kept:
    submission, file, student, attempt, late, origin, number, digest, *circumstances, summary = row
    return Kept(
        Handed(submission, file, student, attempt, bool(late), origin),
        number,
        digest,
        Circumstances(*circumstances),
        Summary.model_validate_json(summary),
    )


def _sentence(path: Path, error: sqlite3.Error) -> str:
    """What to do about an error of SQLite's."""
    text = str(error)
    match getattr(error, "sqlite_errorcode", 0) & 0xFF:
        case sqlite3.SQLITE_BUSY | sqlite3.SQLITE_LOCKED:
            return f"{path} is in use by another program: close it there, and try again."
        case sqlite3.SQLITE_FULL:
            return (
                f"There is no room left for {path}: make room and run the same command again; what "
                "is finished is kept."
            )
        case sqlite3.SQLITE_READONLY | sqlite3.SQLITE_CANTOPEN | sqlite3.SQLITE_PERM:
            return f"{path} cannot be written ({text}): name an --out in a folder of yours."
        case sqlite3.SQLITE_IOERR:
            return f"{path} cannot be read or written, the disk fails ({text}): name another --out."
    return _damaged(path, text)


def _damaged(path: Path, reason: str) -> str:
    return (
        f"{path} is damaged ({reason}): keep a copy of its folder and name another --out; "
        "marks.json and .secret, copied there first, keep marks and inputs."
    )
