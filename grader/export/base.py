"""What every format has in common: where it reads from, what may be wanted of it, what it gives."""

import os
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from decimal import Decimal
from pathlib import Path

from grader.batch.folder import MARKS
from grader.batch.gradebook import ClassRow, Marked, load_report
from grader.batch.roster import Roster
from grader.batch.store import Handed, Store
from grader.errors import InputError
from grader.grading.marks import load_marks
from grader.report import Report, read_report
from grader.report.summary import summarise


@dataclass(frozen=True)
class Source:
    """What is exported: one report, or a class.

    Attributes:
        path: a report's JSON, or the `--out` of a class.
    """

    path: Path

    @property
    def is_class(self) -> bool:
        """Whether it is a class."""
        return self.path.is_dir()

    def report(self) -> Report:
        """The one report.

        Raises:
            InputError: there is none, or it is a class.
        """
        if self.is_class:
            raise InputError(
                f"{self.path} is a class, and this format holds one report: name one of "
                f"{self.path / 'reports'}."
            )
        return load_report(self.path)

    def reports(self) -> Iterator[tuple[Handed, Report]]:
        """Every report, with the marks that persons gave, and whose it is; one by one.

        Raises:
            InputError: it cannot be read.
        """
        if not self.is_class:
            report = self.report()
            yield Handed(report.submission, report.submission), report
            return
        with Store(self.path) as store:
            marked = Marked(store, load_marks(self.path / MARKS))
            for kept in store.latest():
                yield kept.handed, read_report(marked.text(kept))

    def rows(self) -> Iterator[ClassRow]:
        """Every submission's line in the gradebook; one by one.

        Raises:
            InputError: it cannot be read.
        """
        if not self.is_class:
            report = self.report()
            yield ClassRow(Handed(report.submission, report.submission), summarise(report))
            return
        with Store(self.path) as store:
            yield from Marked(store, load_marks(self.path / MARKS)).rows()

    def assignment(self) -> str:
        """The id of the assignment; raises InputError."""
        if not self.is_class:
            return self.report().assignment
        with Store(self.path) as store:
            return store.assignment


@dataclass(frozen=True)
class Wanted:
    """What may be wanted of a format; each says in its `options` what it heeds.

    Attributes:
        max_score: points that full marks come to; None for the assignment's own.
        test_name: what the tests are called; None for their own names alone.
        base: where the submission lies in its repository, as a path.
        roster: the site's own export or a class list; None for ids alone.
        column: the site's column of the assignment; None to find it by its name.
        environment: variables in which a site says what is graded.
    """

    max_score: Decimal | None = None
    test_name: str | None = None
    base: str = ""
    roster: Roster | None = None
    column: str | None = None
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ, repr=False)

    def full_marks(self, report: Report) -> Decimal:
        """What full marks of a report come to."""
        return report.max_score if self.max_score is None else self.max_score


@dataclass(frozen=True)
class Written:
    """What a format gives.

    Attributes:
        text: the file.
        told: what whoever exports should know, a sentence each.
    """

    text: str
    told: tuple[str, ...] = ()


@dataclass(frozen=True)
class Format:
    """A format.

    Attributes:
        name: as the command line calls it.
        about: what it is, in a line.
        write: makes it; raises InputError.
        options: the names of `Wanted` that it heeds.
    """

    name: str
    about: str
    write: Callable[[Source, Wanted], Written]
    options: tuple[str, ...] = ()
