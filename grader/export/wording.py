"""What the formats say of a row: in which order, and where."""

from collections.abc import Iterator

from grader.assignment.questions import MILESTONE as QUESTIONS
from grader.report import CheckRow, MilestoneRow, Place, Report
from grader.report.cells import one_line
from grader.report.model import awaits_mark
from grader.report.terminal import WORDS, points, printable


def title_of(milestone: MilestoneRow, check: CheckRow, most: int | None = None) -> str:
    """What a row is called outside of its report: questions have their ids, which answers bear.

    Args:
        milestone: that the row is of.
        check: the row.
        most: characters; what is cut where there are more is the title, not what follows it.
    """
    after = f" ({check.id})" if milestone.id == QUESTIONS else ""
    if awaits_mark(milestone, check):
        after += " – waits for a person's mark"
    room = None if most is None else max(20, most - len(after))
    title = one_line(check.title.strip() or check.id, room)
    return f"{title} {one_line(after)}" if after else title


def rows_of(report: Report) -> Iterator[tuple[MilestoneRow, CheckRow]]:
    """Every row with its milestone."""
    for milestone in report.milestones:
        for check in milestone.checks:
            yield milestone, check


def begin_with(report: Report) -> str:
    """What to mend first, in a sentence or two; "" where nothing is wrong with the code."""
    right = ("passed", "review", "blocked")
    first = next((check for check in report.code() if check.status not in right), None)
    if first is None:
        return ""
    message = next(iter((first.message or "").splitlines()), "")
    return one_line(f"Begin with: {first.title} {message} {first.hint or ''}")


def reason(report: Report) -> str:
    """Why a report is no grade; "" where it is one."""
    if report.status == "graded":
        return ""
    why = report.findings[0].message if report.findings else ""
    if report.status == "error" and why:
        return one_line(why)  # it says itself that it is no grade
    return one_line(f"Not graded. {why}")


def explained(check: CheckRow) -> Iterator[tuple[str, str]]:
    """What there is to say of a row, each with its label; the message's is ""."""
    for label, text in (
        ("", check.message),
        ("expected", check.expected),
        ("got", check.got),
        ("mistake", check.misconception),
        ("hint", check.hint),
        ("reread", check.lesson),
    ):
        if text:
            yield label, printable(text)


def explanation(check: CheckRow) -> str:
    """What there is to say of a row, in lines."""
    lines = [
        text if not label else f"{label}:{' ' if chr(10) not in text else chr(10)}{text}"
        for label, text in explained(check)
    ]
    if check.location is not None and check.status != "blocked":
        lines.insert(min(1, len(lines)), f"where: {printable(str(check.location))}")
    return "\n".join(lines)


def explanation_in_a_line(check: CheckRow, most: int | None = None) -> str:
    """The same in one line, cut to so many characters."""
    texts = (f"{label}: {text}" if label else text for label, text in explained(check))
    text = " ".join(text.strip() for text in texts)
    return one_line(text if most is None else text[: 4 * most], most)


def status_words(report: Report, check: CheckRow) -> str:
    """How a row that did not pass came out, in words; "" for one that passed."""
    return "not graded" if report.status != "graded" else WORDS.get(check.status, "")


def line_of(place: Place | None) -> int | None:
    """The line of a file, if it is one: lines of cells are none."""
    return (place.line or None) if place is not None and place.cell is None else None


def path_of(place: Place | None, base: str) -> str:
    """Where a file lies in the repository; "" where nothing is known of it.

    Args:
        place: a place in a submission.
        base: where that lies: a folder, or the file itself.
    """
    if place is None or not place.file:
        return ""
    name = printable(place.file)
    base = printable(base).removeprefix("./").rstrip("/")
    if base in ("", "."):
        return name
    if base.endswith((".py", ".ipynb")):
        folder = base.rpartition("/")[0]
        return f"{folder}/{name}" if folder else name
    return f"{base}/{name}"


def score_text(report: Report) -> str:
    """The points of a report: "8.5 of 12 points"."""
    return f"{points(report.score)} of {points(report.max_score)} points"
