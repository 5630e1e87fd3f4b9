"""A mutant of each misconception that no submission of the corpus is told, through its rubric.

`grader audit ID` runs all of them; those of the corpus are proved by the tests of the corpus.
"""

from typing import ClassVar

import pytest

from grader.assignment import load_assignment
from grader.audit import run_audit
from grader.audit.model import Audit
from grader.grading import Grader
from grader.worker.client import Launcher
from reference.misconceptions.mutants import mutants_of
from tests.grading.corpus import manifest


@pytest.fixture(scope="class")
def audited(request: pytest.FixtureRequest, launcher: Launcher) -> Audit:
    assignment = request.cls.assignment
    entries = manifest(assignment, "wrong").values()
    named = {entry["diagnosed"] for entry in entries if "diagnosed" in entry}
    mutants = [
        mutant
        for mutant in mutants_of(assignment)
        if mutant.is_first_in(assignment) and not named.intersection(mutant.ids)
    ]
    assert mutants
    return run_audit(Grader(load_assignment(assignment), launcher), mutants)


class Rubric:
    """What an audit says of an assignment; one class each, so that they run apart."""

    assignment: ClassVar[str]

    def test_no_mutant_keeps_full_marks(self, audited):
        assert [row.name for row in audited.mutants if row.verdict == "kept"] == []

    def test_no_mutant_is_told_another_mistake(self, audited):
        assert [row.name for row in audited.mutants if row.verdict == "wrong"] == []

    def test_nearly_every_mutant_is_named(self, audited):
        named = [row for row in audited.mutants if row.verdict == "right"]
        assert len(named) >= 0.95 * len(audited.mutants)

    def test_the_reference_loses_nothing(self, audited):
        assert audited.rejected == ()
        assert audited.holds


class TestMultiHeadAttention(Rubric):
    assignment = "multi_head_attention"


class TestEncoderClassifier(Rubric):
    assignment = "encoder_classifier"


class TestTransformerReview(Rubric):
    assignment = "transformer_review"
