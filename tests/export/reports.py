"""Reports of every kind, made by hand, and the files that golden ones are compared with."""

import json
from decimal import Decimal
from pathlib import Path

from grader.report import (
    SCHEMA,
    CheckRow,
    Environment,
    Finding,
    MilestoneRow,
    Place,
    Report,
)

GOLDEN = Path(__file__).with_name("golden")
ENVIRONMENT = {
    "CLASSROOM": "transformers-26",
    "ASSIGNMENT": "attention",
    "ASSIGNMENT_TYPE": "individual",
    "USERNAME": "student-7",
    "SUBMISSION_TAG": "submit/2026-11-30T10-20-30Z-0123abc",
    "COMMIT_URL": "https://example.org/repo/commit/0123abc",
    "RELEASE_URL": "https://example.org/repo/releases/tag/submit",
    "GITHUB_WORKSPACE": "/nowhere",
}
HOSTILE = (
    "\x1b[2J\x07::error file=x::y\r\n::set-output name=result::forged\n##[error]z\n"
    "</failure></testcase>]]><!--&\"' ```\n````\n=cmd()|' /C calc'!A0\n\u202e\ud800\x00\ufffe"
    "\n<script>alert(1)</script> [link](javascript:x) | a | b |\n# head"
)


def row(name, status="passed", points="0.5", score=None, **more):
    full = Decimal(points)
    reached = Decimal(score) if score is not None else full if status == "passed" else Decimal(0)
    title = more.pop("title", f"What {name} is about.")
    return CheckRow(id=name, title=title, status=status, score=reached, max_score=full, **more)


def make(milestones, submission="student-7.py", status="graded", findings=(), seconds=1.25):
    rows = tuple(
        MilestoneRow.of(name, f"Milestone {name}", sum((c.max_score for c in checks), Decimal(0)), checks)
        for name, checks in milestones.items()
    )  # fmt: skip
    return Report(
        schema=SCHEMA, submission=submission, digest="sha256:0", assignment="multi_head_attention",
        status=status, score=sum((m.score for m in rows), Decimal(0)),
        max_score=sum((m.max_score for m in rows), Decimal(0)), milestones=rows,
        findings=tuple(findings),
        environment=Environment(grader="0.1.0", torch="2.13.0", isolation="namespaces"),
        seconds=seconds,
    )  # fmt: skip


def right():
    open_question = row("why", "review", "0.3", message="A person reads and marks this answer.")
    return make(
        {
            "heads": [row("splits"), row("merges", points="0.1")],
            "attention": [row("value", points="0.7"), row("mask", points="0.2")],
            "questions": [row("scale", points="0.2"), open_question],
        }
    )


def partly():
    failed = row(
        "mask", "failed", "0.7", score="0.1", message="A hidden key has a weight.\nFor:\nmask = [[True]]",
        expected="[0.0, 1.0]", got="[0.5, 0.5]", misconception="mask-inverted",
        hint="True = may attend.", lesson="Lesson 115, causal mask",
        location=Place(file="student-7.py", line=34),
    )  # fmt: skip
    raised = row(
        "value", "raised", "0.2", message="ValueError: no", hidden=True,
        location=Place(file="work.ipynb", line=3, cell=7),
    )  # fmt: skip
    blocked = row("layer", "blocked", "0.1", message="Not tried, because it builds on `value`.")
    late = row("cost", "timed_out", "0.3", message="It was still running after 10 s.")
    note = Finding(
        kind="note", message="Lines were left out.", location=Place(file="student-7.py", line=2)
    )
    return make(
        {"heads": [row("splits", points="0.1"), row("merges", points="0.2")],
         "attention": [failed, raised, blocked, late]},
        findings=[note],
    )  # fmt: skip


def hostile():
    rows = [
        row(
            "value", "failed", "0.5", title=HOSTILE, message=HOSTILE, expected=HOSTILE, got=HOSTILE,
            misconception=HOSTILE, hint=HOSTILE, lesson=HOSTILE,
            location=Place(file=HOSTILE, line=1),
        ),
        row("other", "raised", "0.5", message="=cmd()", location=Place(file="=cmd().py", line=2)),
    ]  # fmt: skip
    finding = Finding(kind="review", message=HOSTILE, location=Place(file=HOSTILE, line=3))
    return make({"heads": rows}, submission=HOSTILE, findings=[finding])


def refused():
    finding = Finding(
        kind="note", message="student-7.py is no Python: unclosed bracket.",
        location=Place(file="student-7.py", line=5),
    )  # fmt: skip
    rows = [row("splits", "refused", message="The submission could not be read.")]
    return make({"heads": rows}, status="refused", findings=[finding])


def failed():
    finding = Finding(kind="review", message="The grader itself failed: no room. Grade it again.")
    rows = [row("splits", "review", message="The grader itself failed.")]
    return make({"heads": rows}, status="error", findings=[finding])


def huge():
    text = "x̂ = softmax(QKᵀ/√d_k)·V " * 400
    rows = [
        row(f"check_{n}", "failed", "0.1", title=f"{n} {text}", message=text, expected=text, got=text,
            location=Place(file=f"{'folder/' * 60}s.py", line=n + 1))
        for n in range(400)
    ]  # fmt: skip
    return make({"heads": rows})


def to_json(report):
    """The report's JSON in ASCII, in which also halves of surrogate pairs can be written."""
    return json.dumps(report.model_dump(by_alias=True), default=float)


THREE = {"right": right, "partly": partly, "hostile": hostile}
EVERY = {**THREE, "refused": refused, "failed": failed, "huge": huge}
