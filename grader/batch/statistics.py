"""A class at a glance: how it did, what it got wrong, and what to explain again."""

import heapq
import runpy
import statistics
from collections import Counter
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.batch.folder import MARKS
from grader.batch.gradebook import ClassRow, Marked
from grader.batch.store import Store
from grader.grading.marks import load_marks
from grader.report import MilestoneRow
from grader.report.model import Score

SCHEMA: Literal["transformer-grader/statistics/1"] = "transformer-grader/statistics/1"
BINS = 10  # of the distribution
SLOWEST = 5
UNJUDGED = {"blocked", "review"}
NAMED = 200  # submissions that are named for one thing; their number is exact


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Bin(_Model):
    """How many submissions have from `low` to `high` points; only the last holds its `high`."""

    low: float
    high: float
    count: int


class Spread(_Model):
    """Points of the submissions that were graded: the mean, and what parts them into quarters."""

    mean: float
    lowest: float
    lower_quartile: float
    median: float
    upper_quartile: float
    highest: float


class MilestoneFigures(_Model):
    """A milestone: the mean of its points, and how many got all of them."""

    id: str
    title: str
    mean: float
    max_score: Score
    full: int


class CheckFigures(_Model):
    """A check: how many submissions lost points in it, and how.

    Attributes:
        lost: how many; not those that are not judged, which says nothing about the check.
        judged: how many are judged in it.
        rate: the share of those that lost points, 0 to 1.
        statuses: how many of each status, among those that lost points.
        unjudged: how many were not tried, for an earlier row or for want of an answer, or wait for
            a person.
    """

    id: str
    title: str
    milestone: str
    lost: int
    judged: int
    rate: float
    statuses: dict[str, int]
    unjudged: int


class MisconceptionFigures(_Model):
    """A misconception: how many submissions show it, and which.

    Attributes:
        sentence: what was done and what is right, where the grader has a sentence for it.
        lesson: what to reread.
        rate: the share of the submissions that were graded, 0 to 1.
        submissions: their ids, the first of them.
    """

    id: str
    sentence: str | None
    lesson: str | None
    count: int
    rate: float
    submissions: tuple[str, ...]


class Named(_Model):
    """A submission that stands out, with why or by how much."""

    submission: str
    what: str


class Statistics(_Model):
    """A class at a glance (schema transformer-grader/statistics/1).

    Attributes:
        submissions: how many there are.
        graded: those that were graded, over which all shares and means are taken.
        refused: those that could not be read, with the reason.
        errors: those at which the grader itself failed.
        review: those at which a person must look, with how many places.
        spread: None where nothing was graded.
        misconceptions: the most frequent first.
        checks: those in which most lost points first; only those in which any did.
    """

    schema_: Literal["transformer-grader/statistics/1"] = Field(default=SCHEMA, alias="schema")
    assignment: str
    submissions: int
    graded: int
    full_marks: int
    code_is_right: int
    max_score: Score
    refused_count: int
    refused: tuple[Named, ...]
    errors: tuple[Named, ...]
    review_count: int
    review: tuple[Named, ...]
    spread: Spread | None
    distribution: tuple[Bin, ...]
    milestones: tuple[MilestoneFigures, ...]
    checks: tuple[CheckFigures, ...]
    misconceptions: tuple[MisconceptionFigures, ...]
    slowest: tuple[Named, ...]

    def to_json(self) -> str:
        """As JSON, with a newline at its end."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"


def class_statistics(out: Path) -> Statistics:
    """The statistics of a class.

    Args:
        out: its folder.

    Raises:
        InputError: it holds no class, or its store cannot be read.
    """
    with Store(out) as store:
        tally = _Tally()
        for row in Marked(store, load_marks(out / MARKS)).rows():
            tally.add(row)
        return tally.statistics(store)


@dataclass
class _Tally:
    """Counts over the rows of a class, which come one by one."""

    total: int = 0
    full: int = 0
    right: int = 0
    max_score: Decimal = Decimal(0)
    scores: list[float] = field(default_factory=list)
    milestones: dict[str, list[float]] = field(default_factory=dict)
    lost: dict[str, Counter[str]] = field(default_factory=dict)
    counts: Counter[str] = field(default_factory=Counter)  # of misconceptions
    shows: dict[str, list[str]] = field(default_factory=dict)
    refused: list[Named] = field(default_factory=list)
    refused_count: int = 0
    errors: list[Named] = field(default_factory=list)
    review: list[Named] = field(default_factory=list)
    review_count: int = 0
    slowest: list[tuple[float, str]] = field(default_factory=list)

    def add(self, row: ClassRow) -> None:
        """Count one more."""
        summary = row.summary
        self.total += 1
        self.max_score = summary.max_score
        if summary.status == "refused":
            self.refused_count += 1
            _name(self.refused, row, summary.remark.removeprefix("refused: "))
        elif summary.status == "error":
            self.errors.append(Named(submission=row.id, what=summary.remark))
        else:
            self._add_graded(row)
        if summary.status == "graded" and summary.review:
            self.review_count += 1
            _name(self.review, row, str(summary.review))
        heapq.heappush(self.slowest, (summary.seconds, row.id))
        if len(self.slowest) > SLOWEST:
            heapq.heappop(self.slowest)

    def _add_graded(self, row: ClassRow) -> None:
        summary = row.summary
        self.full += summary.score == summary.max_score
        self.right += summary.code_is_right
        self.scores.append(float(summary.score))
        for name, score in summary.milestones.items():
            self.milestones.setdefault(name, []).append(float(score))
        for name, loss in summary.losses.items():
            self.lost.setdefault(name, Counter())[loss.status] += 1
        for name in summary.misconceptions:
            self.counts[name] += 1
            shown = self.shows.setdefault(name, [])
            if len(shown) < NAMED:
                shown.append(row.id)

    def statistics(self, store: Store) -> Statistics:
        """What the counts come to; titles and lessons are read from reports of the class."""
        graded = len(self.scores)
        milestones, titles = self._titles(store)
        checks = [
            _check_figures(name, *titles.get(name, (name, "")), statuses, graded)
            for name, statuses in self.lost.items()
        ]
        return Statistics(
            assignment=store.assignment,
            submissions=self.total,
            graded=graded,
            full_marks=self.full,
            code_is_right=self.right,
            max_score=self.max_score,
            refused_count=self.refused_count,
            refused=tuple(self.refused),
            errors=tuple(self.errors),
            review_count=self.review_count,
            review=tuple(self.review),
            spread=_spread(self.scores),
            distribution=_distribution(self.scores, float(self.max_score)),
            milestones=tuple(
                MilestoneFigures(
                    id=name,
                    title=milestones[name].title,
                    mean=statistics.fmean(scores),
                    max_score=milestones[name].max_score,
                    full=sum(score == float(milestones[name].max_score) for score in scores),
                )
                for name, scores in self.milestones.items()
            ),
            checks=tuple(sorted(checks, key=lambda check: -check.lost)),
            misconceptions=tuple(
                MisconceptionFigures(
                    id=name,
                    sentence=_sentences().get(name),
                    lesson=_lesson(store, self.shows[name][0], name),
                    count=count,
                    rate=count / graded,
                    submissions=tuple(self.shows[name]),
                )
                for name, count in self.counts.most_common()
            ),
            slowest=tuple(
                Named(submission=name, what=f"{seconds:.1f} s")
                for seconds, name in sorted(self.slowest, reverse=True)
            ),
        )

    def _titles(self, store: Store) -> tuple[dict[str, MilestoneRow], dict[str, tuple[str, str]]]:
        """The milestones by id, and each check's title and milestone, as a report has them."""
        kept = next((k for k in store.latest() if k.summary.status == "graded"), None)
        if kept is None:
            return {}, {}
        report = store.read(kept.number)
        titles = {row.id: (row.title, m.id) for m in report.milestones for row in m.checks}
        return {milestone.id: milestone for milestone in report.milestones}, titles


def _name(named: list[Named], row: ClassRow, what: str) -> None:
    if len(named) < NAMED:
        named.append(Named(submission=row.id, what=what))


def _check_figures(
    name: str, title: str, milestone: str, statuses: Counter[str], graded: int
) -> CheckFigures:
    lost = Counter({s: count for s, count in statuses.items() if s not in UNJUDGED})
    unjudged = statuses.total() - lost.total()
    judged = graded - unjudged
    return CheckFigures(
        id=name,
        title=title,
        milestone=milestone,
        lost=lost.total(),
        judged=judged,
        rate=lost.total() / max(1, judged),
        statuses=dict(lost.most_common()),
        unjudged=unjudged,
    )


def _spread(scores: list[float]) -> Spread | None:
    if not scores:
        return None
    lower, median, upper = (
        statistics.quantiles(scores, n=4, method="inclusive") if len(scores) > 1 else scores * 3
    )
    return Spread(
        mean=statistics.fmean(scores),
        lowest=min(scores),
        lower_quartile=lower,
        median=median,
        upper_quartile=upper,
        highest=max(scores),
    )


def _distribution(scores: list[float], most: float) -> tuple[Bin, ...]:
    if not scores or most <= 0:
        return ()
    counts = Counter(min(BINS - 1, int(BINS * score / most)) for score in scores)
    return tuple(
        Bin(low=most * i / BINS, high=most * (i + 1) / BINS, count=counts[i]) for i in range(BINS)
    )


def _lesson(store: Store, submission: str, misconception: str) -> str | None:
    """What to reread about a misconception, by the report of a submission that shows it."""
    kept = store.latest_of(submission)
    if kept is None:
        return None
    rows = store.read(kept.number).checks()
    return next((r.lesson for r in rows if r.misconception == misconception and r.lesson), None)


@cache
def _sentences() -> dict[str, str]:
    """What each misconception is, in a sentence.

    They are read from their file, since importing the package around it imports torch.
    """
    spec = find_spec("reference")
    if spec is None or spec.origin is None:
        return {}
    file = Path(spec.origin).parent / "misconceptions" / "sentences.py"
    found: dict[str, str] = runpy.run_path(str(file))["SENTENCES"]
    return found
