"""What the fuzzers feed: bytes in place of a worker's frames, and texts in place of a report's.

The tests run these functions with hypothesis, `make fuzz` with atheris, which follows what the code
does with what it is fed.
"""

import base64
import csv
import io
import re
import socket
import tempfile
import time
from decimal import Decimal
from pathlib import Path
from xml.etree import ElementTree

from rich.console import Console

from grader.batch import ClassRow, read_class
from grader.batch.fingerprint import Circumstances
from grader.batch.folder import GRADEBOOK
from grader.batch.gradebook import write_gradebook
from grader.batch.store import Grading, Handed, Store
from grader.batch.terminal import class_line, class_table
from grader.export import FORMATS, Source, Wanted
from grader.intake.text import writable
from grader.report import Report, read_report
from grader.report.model import CheckRow, Environment, Finding, MilestoneRow, Place
from grader.report.summary import summarise
from grader.report.terminal import print_report
from grader.worker.answers import Answer, read_answer
from grader.worker.protocol import Channel, ProtocolError

ENVIRONMENT = {
    "CLASSROOM": "c", "ASSIGNMENT": "a", "USERNAME": "u", "SUBMISSION_TAG": "submit/20261130T100000Z",
    "COMMIT_URL": "u", "RELEASE_URL": "u", "GITHUB_WORKSPACE": "/nowhere",
}  # fmt: skip
COMMANDS = re.compile(r"\s*(?:::[A-Za-z][\w-]*(?:\s|::)|##\[)")  # of a GitHub workflow
ESCAPES = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")


def feed_frames(data: bytes) -> int:
    """Read frames from bytes until there is no more; returns how many were answers.

    Whatever the bytes are, nothing but ProtocolError comes out, and in no time.
    """
    ours, theirs = socket.socketpair()
    answers = 0
    with ours, theirs:
        theirs.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, max(4096, 2 * len(data)))
        theirs.sendall(data)
        theirs.shutdown(socket.SHUT_WR)
        channel = Channel(ours)
        try:
            while True:
                head, body = channel.receive(time.monotonic() + 5.0)
                answers += feed_answer(head, body)
        except ProtocolError:
            return answers


def feed_answer(head: bytes, body: bytes) -> bool:
    """Read a frame's header and body as an answer; False where they are none."""
    try:
        answer, _ = read_answer(head, body)
    except ProtocolError:
        return False
    assert isinstance(answer, Answer)
    return True


def report_of(texts: list[str]) -> Report:
    """A report with these texts wherever a submission can have put one."""
    given = [texts[index % len(texts)] for index in range(6)] if texts else [""] * 6
    place = Place(file=given[0], line=1, cell=None)
    check = CheckRow(
        id="check",
        title="A check",
        status="failed",
        score=Decimal(0),
        max_score=Decimal(1),
        message=given[1],
        expected=given[2],
        got=given[3],
        location=place,
    )
    return Report(
        schema="transformer-grader/report/1",
        submission=given[4],
        digest="sha256:0",
        assignment="a",
        status="graded",
        score=Decimal(0),
        max_score=Decimal(1),
        milestones=(MilestoneRow.of("m", "A milestone", Decimal(1), [check]),),
        findings=(Finding(kind="note", message=given[5], location=place),),
        environment=Environment(grader="0", torch="0", isolation="limits"),
        seconds=0.5,
    )


def feed_writers(texts: list[str]) -> None:
    """Write a report with these texts in every form, and read back what can be read back."""
    report = report_of(texts)
    text = report.to_json()
    text.encode("utf-8")
    assert read_report(text) == report
    shown = io.StringIO()
    console = Console(file=shown, width=100, force_terminal=False)
    print_report(report, console)
    handed = Handed("s", report.submission, (texts or [""])[0], "1", True)
    row = ClassRow(handed, summarise(report))
    console.print(class_line(row), markup=False)
    console.print(class_table([row]))
    assert not ESCAPES.search(shown.getvalue())
    assert not any(COMMANDS.match(line) for line in shown.getvalue().splitlines())
    with tempfile.TemporaryDirectory(prefix="grader-fuzz-") as name:
        out = Path(name)
        nowhere = Circumstances("", "", "")
        with Store(out, "a") as store:
            store.see([handed])
            store.add(Grading(handed, "", nowhere, "", "", 1, row.summary, text))
            (kept,) = store.latest()
            assert store.report(kept.number) == text
        (again,) = read_class(out)
        assert again.summary == row.summary
        assert again.handed.file == writable(handed.file)
        assert again.handed.student == writable(handed.student)
        write_gradebook(out, [again])
        with open(out / GRADEBOOK, encoding="utf-8", newline="") as file:
            (line,) = csv.DictReader(file)
        assert line["submission"] == "s"
        assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in line.values())
        feed_formats(out, report)


def feed_formats(folder: Path, report: Report) -> None:
    """Write a report in every format that holds one."""
    path = folder / "report.json"
    path.write_text(report.to_json(), encoding="utf-8")
    for name, form in FORMATS.items():
        if "roster" in form.options:
            continue
        text = form.write(Source(path), Wanted(base="a", environment=ENVIRONMENT)).text
        text.encode("utf-8")
        shown = base64.b64decode(text).decode() if name == "classroom" else text
        assert not ESCAPES.search(shown.replace("\r\n", "\n"))
        assert "##[" not in shown
        if name not in ("annotations", "csv", "junit"):
            assert not any(COMMANDS.match(line) for line in shown.splitlines())
        if name == "junit":
            ElementTree.fromstring(text)
        if name == "csv":
            for line in csv.reader(io.StringIO(text, newline="")):
                assert not any(cell.startswith(("=", "+", "-", "@", "\t")) for cell in line)
