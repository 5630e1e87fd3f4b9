"""Reports: sums that are exact, and text that is safe and readable in a terminal."""

import io
from decimal import Decimal

import pytest
from pydantic import ValidationError
from rich.console import Console

from grader.batch.gradebook import ClassRow
from grader.batch.store import Handed
from grader.batch.terminal import class_table
from grader.report import (
    SCHEMA,
    CheckRow,
    Environment,
    Finding,
    MilestoneRow,
    Place,
    Report,
    read_report,
)
from grader.report.summary import summarise
from grader.report.terminal import points, print_report, printable


def row(status="passed", points="0.1", **more):
    score = Decimal(points) if status == "passed" else Decimal(0)
    fields = {"id": "a_check", "title": "A check.", "status": status}
    return CheckRow(**fields, score=score, max_score=Decimal(points), **more)


def report(*rows, status="graded", findings=(), **more):
    score = sum((r.score for r in rows), Decimal(0))
    total = sum((r.max_score for r in rows), Decimal(0))
    milestone = MilestoneRow(id="one", title="One", score=score, max_score=total, checks=rows)
    return Report(
        schema=SCHEMA, submission="s.py", digest="sha256:0", assignment="multi_head_attention",
        status=status, score=score, max_score=total, milestones=(milestone,), findings=findings,
        environment=Environment(grader="0", torch="0", isolation="limits"), seconds=0.5, **more,
    )  # fmt: skip


def printed(shown, **options):
    out = io.StringIO()
    print_report(shown, Console(file=out, width=100, **options))
    return out.getvalue()


def test_sums_show_no_floating_point_dust():
    text = report(row(), row(), row()).to_json()
    assert '"score": 0.3,' in text
    assert "0.30000" not in text
    assert read_report(text).score == Decimal("0.3")


def test_a_score_that_is_no_sum_is_refused():
    good = report(row()).model_dump(by_alias=True)
    with pytest.raises(ValidationError, match="not the sum"):
        Report.model_validate({**good, "score": Decimal(1)})


def test_unknown_keys_are_refused():
    good = report(row()).model_dump(by_alias=True)
    with pytest.raises(ValidationError):
        Report.model_validate({**good, "extra": 1})


@pytest.mark.parametrize(("value", "text"), [("2.50", "2.5"), ("3", "3"), ("10", "10"), ("0", "0")])
def test_points_are_written_short(value, text):
    assert points(Decimal(value)) == text


def test_a_problem_is_shown_with_all_that_mends_it():
    failed = row(
        "failed", message="The output has wrong values.", expected="[1.0]", got="[2.0]",
        misconception="scale-missing", hint="Divide by √d_k.", lesson="Lesson 115, Scale",
        location=Place(file="s.ipynb", line=3, cell=7),
    )  # fmt: skip
    text = printed(report(row(), failed))
    for part in (
        "0.1 of 0.2 points", "A check.", "wrong values", "expected", "[1.0]", "got", "[2.0]",
        "scale-missing", "Divide by √d_k.", "Lesson 115, Scale", "s.ipynb, cell 7, line 3",
    ):  # fmt: skip
        assert part in text


def test_blocked_checks_share_a_line():
    blocked = row("blocked", message="Not tried, because it builds on `b`.")
    assert printed(report(blocked, blocked)).count("Not tried") == 1


def test_without_a_terminal_there_is_no_colour():
    assert "\x1b" not in printed(report(row("failed", message="x")))


def test_what_comes_from_a_submission_cannot_steer_the_terminal():
    evil = "\x1b]0;title\x07\x1b[2J\u202eevil [bold]markup[/bold]\r"
    finding = Finding(kind="note", message=evil, location=Place(file=evil))
    text = printed(report(row("raised", message=evil, got=evil), findings=(finding,)))
    assert not {"\x1b", "\x07", "\r", "\u202e"} & set(text)
    assert "[bold]markup[/bold]" in text


def test_full_marks_are_said():
    assert "everything is right" in printed(report(row()))


def test_a_failure_of_the_grader_is_not_a_grade():
    assert "not a grade" in printed(report(row("review"), status="error"))


def test_a_refused_submission_shows_why():
    finding = Finding(kind="note", message="It is not Python.")
    assert "It is not Python." in printed(
        report(row("refused"), status="refused", findings=[finding])
    )


def test_a_class_is_a_table():
    out = io.StringIO()
    wrong = report(row("failed", misconception="mask-inverted"))
    rows = [ClassRow(Handed("s.py", "s.py"), summarise(each)) for each in (report(row()), wrong)]
    Console(file=out, width=100).print(class_table(rows))
    lines = out.getvalue().splitlines()
    assert len(lines) == 3
    assert "mask-inverted" in lines[2]


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("\x1b[31mred\x07", "\\x1b[31mred\\x07"),
        ("a\u202eb\u2066c\u200fd", "a\\x202eb\\x2066c\\x200fd"),
        ("half \ud800", "half \\xd800"),
        ("::error file=a::x", "\\::error file=a::x"),
        ("x\n  ::set-output name=a::b", "x\n  \\::set-output name=a::b"),
        ("far along a line ::add-mask::x", "far along a line \\::add-mask::x"),
        ("##[error]x", "#\\#[error]x"),
        ("a##[error]x", "a#\\#[error]x"),
        ("x[::2], a::b, std::vector", "x[::2], a::b, std::vector"),
        ("tab\tand é stay\n", "tab\tand é stay\n"),
    ],
)
def test_nothing_of_a_submission_is_obeyed_by_what_shows_it(text, shown):
    assert printable(text) == shown
