"""Classroom 50's `result.json` (schema classroom50/result/v1).

Its scores are whole numbers, so points are multiplied by the least power of ten that makes all of
them whole; the result says by which, in `scale`. Who handed in what comes from the variables that
its runner sets.
"""

import os
import re
import subprocess
from collections.abc import Mapping
from datetime import UTC, datetime
from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from grader.errors import InputError
from grader.export.base import Format, Source, Wanted, Written
from grader.export.scores import scaled_to_integers
from grader.export.wording import explanation_in_a_line, reason, rows_of, title_of
from grader.intake.text import writable
from grader.report import Report
from grader.report.cells import one_line

NAME, MESSAGE = 160, 600  # characters
Some = Annotated[str, Field(min_length=1)]
Whole = Annotated[int, Field(ge=0)]
TIME = r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ"


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", strict=True, populate_by_name=True)


class Classroom50Test(_Model):
    """A row of the report; `message` says what to mend, and is kept as a field of our own."""

    name: Annotated[Some, Field(alias="test-name")]
    passed: bool
    score: Whole
    max_score: Annotated[Whole, Field(alias="max-score")]
    message: str | None = None

    @model_validator(mode="after")
    def _is_possible(self) -> Self:
        if self.score > self.max_score:
            raise ValueError("a score is larger than what there is to be had")
        return self


class Classroom50Result(_Model):
    """What a submission came to.

    Attributes:
        owner: whose repository it is.
        submission: the tag that it was handed in by.
        datetime: when it was handed in, in UTC.
        score: points times `scale`.
        scale: by what points are multiplied.
        message: why it is no grade.
    """

    schema_: Annotated[Literal["classroom50/result/v1"], Field(alias="schema")] = (
        "classroom50/result/v1"
    )
    classroom: Some
    assignment: Some
    assignment_type: Literal["individual", "group", "team"]
    owner: Some
    submission: Annotated[str, Field(pattern=r"^submit/.")]
    commit: Some
    release: Some
    review: Some
    datetime: Annotated[str, Field(pattern=rf"^{TIME}$")]
    graded_at: Annotated[str, Field(pattern=rf"^{TIME}$")]
    score: Whole
    max_score: Annotated[Whole, Field(alias="max-score")]
    scale: Annotated[int, Field(ge=1)]
    message: str | None = None
    tests: list[Classroom50Test]

    @model_validator(mode="after")
    def _adds_up(self) -> Self:
        if self.score != sum(test.score for test in self.tests):
            raise ValueError("the score is not the sum of the tests")
        if self.tests and self.max_score != sum(test.max_score for test in self.tests):
            raise ValueError("the most that can be had is not the sum of the tests")
        return self

    def to_json(self) -> str:
        """As JSON, with a newline at its end."""
        return self.model_dump_json(by_alias=True, exclude_none=True, indent=2) + "\n"


def write(source: Source, wanted: Wanted) -> Written:
    """The file; raises InputError where the runner's variables are not there."""
    report = source.report()
    # Nothing of nothing is how the runner itself tells that grading failed, which is no zero.
    tests, scale = ([], 1) if report.status == "error" else _tests(report)
    told: tuple[str, ...] = ()
    if scale != 1:
        told = (f"Scores are whole numbers there: points times {scale}.",)
    result = Classroom50Result.model_validate(
        {
            **_identity(wanted.environment),
            "graded_at": _utc(datetime.now(UTC)),
            "score": sum(test.score for test in tests),
            "max-score": sum(test.max_score for test in tests),
            "scale": scale,
            "message": reason(report) or None,
            "tests": tests,
        }
    )
    return Written(result.to_json(), told)


def _tests(report: Report) -> tuple[list[Classroom50Test], int]:
    checks = report.checks()
    scale = scaled_to_integers(value for c in checks for value in (c.score, c.max_score))
    tests = [
        Classroom50Test(
            name=one_line(title_of(milestone, check, NAME), NAME) or check.id,
            passed=check.status == "passed",
            score=int(check.score * scale),
            max_score=int(check.max_score * scale),
            message=None if check.status == "passed" else explanation_in_a_line(check, MESSAGE),
        )
        for milestone, check in rows_of(report)
    ]
    return tests, scale


def _identity(environment: Mapping[str, str]) -> dict[str, str]:
    """Who handed in what, by the runner's variables; raises InputError."""
    values = {name: writable(value.strip()) for name, value in environment.items()}

    def one_of(*names: str) -> str:
        for name in names:
            if values.get(name):
                return values[name]
        raise InputError(
            f"The variable {' or '.join(names)} is not set: Classroom 50's runner sets it, and "
            "outside of that it has to be set by hand."
        )

    commit = one_of("COMMIT_URL")
    kind = values.get("ASSIGNMENT_TYPE") or "individual"
    if kind not in ("individual", "group", "team"):
        raise InputError(f"ASSIGNMENT_TYPE is {kind!r}: it is individual, group or team.")
    tag = one_of("SUBMISSION_TAG")
    if not tag.startswith("submit/"):
        raise InputError(f"SUBMISSION_TAG is {tag!r}: it begins with submit/.")
    return {
        "classroom": one_of("CLASSROOM"),
        "assignment": one_of("ASSIGNMENT"),
        "assignment_type": kind,
        "owner": one_of("OWNER", "USERNAME"),
        "submission": tag,
        "commit": commit,
        "release": one_of("RELEASE_URL"),
        "review": values.get("REVIEW_URL") or commit,
        "datetime": _handed_in(tag, environment),
    }


def _handed_in(tag: str, environment: Mapping[str, str]) -> str:
    """When it was handed in: the time of its commit, or that which its tag bears."""
    said = _commit(environment.get("GITHUB_WORKSPACE") or os.getcwd(), environment)
    when = re.search(r"^committer .*> ([0-9]{1,12}) [-+][0-9]{4}$", said, re.MULTILINE)
    if when is not None:
        return _utc(datetime.fromtimestamp(int(when[1]), UTC))
    digits = re.sub(r"[^0-9]", "", tag.removeprefix("submit/"))[:14]
    try:
        return _utc(datetime.strptime(digits, "%Y%m%d%H%M%S"))
    except ValueError:
        return _utc(datetime.now(UTC))


def _commit(folder: str, environment: Mapping[str, str]) -> str:
    """The header of the commit that is graded, "" where there is none.

    The folder is a student's, so git does nothing there but read an object: `cat-file` runs none of
    the programs that a configuration can name.
    """
    commit = environment.get("GITHUB_SHA") or "HEAD"
    if not re.fullmatch(r"[0-9a-fA-F]{7,64}|HEAD", commit):
        return ""
    options = ("safe.directory=*", "safe.bareRepository=explicit", "core.fsmonitor=false")
    command = ["git", *(part for option in options for part in ("-c", option)), "-C", folder]
    kept = {"PATH": os.environ.get("PATH", os.defpath), "GIT_CONFIG_NOSYSTEM": "1"}
    kept |= {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_NO_LAZY_FETCH": "1", "GIT_TERMINAL_PROMPT": "0"}
    try:
        said = subprocess.run(
            [*command, "cat-file", "commit", commit],
            env=kept, capture_output=True, timeout=30, check=False,
        )  # fmt: skip
    except (OSError, subprocess.SubprocessError):
        return ""
    header = said.stdout.decode("utf-8", "replace").partition("\n\n")[0]
    return header if said.returncode == 0 else ""


def _utc(when: datetime) -> str:
    return when.strftime("%Y-%m-%dT%H:%M:%SZ")


FORMAT = Format("classroom50", "Classroom 50's result.json", write)
