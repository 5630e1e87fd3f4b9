"""What an audit comes to: a row for each mutant, right submission and check, and the figures."""

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

from grader.report.model import Score, Status

SCHEMA: Literal["transformer-grader/audit/1"] = "transformer-grader/audit/1"
Verdict = Literal["right", "later", "unknown", "wrong", "kept", "error"]


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class Catch(_Model):
    """A check that a mutant does not pass; what is only blocked is none."""

    check: str
    status: Status


class MutantRow(_Model):
    """What a mutant came to.

    Attributes:
        name: the mutant's.
        expected: the misconceptions of which one should be named.
        lost: points of the code.
        milestones: those that lose points.
        caught: the checks that caught it, in the order of the rubric.
        named: the misconceptions that its report names, in the order of the rubric.
        verdict: "right" when the first that is named is expected; "later" when another comes
            before it; "unknown" when none is named; "wrong" when some are and none is expected;
            "kept" when it keeps full marks; "error" when the grader itself failed.
        seconds: how long its grading took.
    """

    name: str
    expected: tuple[str, ...]
    lost: Score
    milestones: tuple[str, ...]
    caught: tuple[Catch, ...]
    named: tuple[str, ...]
    verdict: Verdict
    seconds: float


class RightRow(_Model):
    """What a right submission came to.

    Attributes:
        name: the submission's.
        lost: points of the code, 0 as it should be.
        failed: the checks that did not pass.
        named: the misconceptions that its report names, none as it should be.
    """

    name: str
    lost: Score
    failed: tuple[str, ...]
    named: tuple[str, ...]

    @property
    def accepted(self) -> bool:
        """Whether it lost nothing and no misconception was named."""
        return not self.failed and not self.named


class CheckFigures(_Model):
    """How often a check caught a mutant: at all, before every other check, and as the only one."""

    check: str
    milestone: str
    caught: int
    first: int
    alone: int


class Audit(_Model):
    """What a rubric does to wrong and to right submissions (schema transformer-grader/audit/1)."""

    schema_: Literal["transformer-grader/audit/1"] = Field(default=SCHEMA, alias="schema")
    assignment: str
    mutants: tuple[MutantRow, ...]
    right: tuple[RightRow, ...]
    checks: tuple[CheckFigures, ...]

    def count(self, *verdicts: Verdict) -> int:
        """How many mutants have one of these verdicts."""
        return sum(row.verdict in verdicts for row in self.mutants)

    @property
    def rejected(self) -> tuple[RightRow, ...]:
        """The right submissions that lost something."""
        return tuple(row for row in self.right if not row.accepted)

    @property
    def holds(self) -> bool:
        """Whether no mutant keeps full marks, no diagnosis is wrong, and nothing right loses."""
        return not self.count("kept", "wrong", "error") and not self.rejected

    @property
    def idle(self) -> tuple[CheckFigures, ...]:
        """The checks that no mutant fails."""
        return tuple(check for check in self.checks if check.caught == 0)

    @property
    def never_first(self) -> tuple[CheckFigures, ...]:
        """The checks that catch only what another check before them in the rubric caught."""
        return tuple(check for check in self.checks if check.caught and check.first == 0)

    def to_json(self) -> str:
        """JSON, with a newline at its end."""
        return self.model_dump_json(by_alias=True, indent=2) + "\n"
