"""A mutant of each misconception, run through the rubric that it belongs to."""

from typing import ClassVar

import pytest

from grader.assignment import load_assignment
from grader.audit import run_audit
from grader.audit.model import Audit
from grader.grading import Grader
from grader.worker.client import Launcher
from reference.misconceptions.mutants import mutants_of


class Rubric:
    """What `grader audit --quick` says of an assignment; one class each, so that they run apart."""

    assignment: ClassVar[str]

    @pytest.fixture(scope="class")
    def audited(self, launcher: Launcher) -> Audit:
        mutants = [m for m in mutants_of(self.assignment) if m.is_first_in(self.assignment)]
        assert len(mutants) > 10
        return run_audit(Grader(load_assignment(self.assignment), launcher), mutants)

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
