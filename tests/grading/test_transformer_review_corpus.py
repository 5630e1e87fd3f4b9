"""The corpus of `transformer_review`: right, wrong and broken submissions."""

from tests.conftest import failing
from tests.grading.corpus import (
    WEIGHTS_CHECKS,
    BrokenSubmissions,
    Corpus,
    RightSubmissions,
    WrongSubmissions,
)


class TestRight(RightSubmissions):
    assignment = "transformer_review"


class TestWrong(WrongSubmissions):
    assignment = "transformer_review"


class TestBroken(BrokenSubmissions):
    assignment = "transformer_review"


class TestRightWithoutWeights(Corpus):
    """Weights left out cost the checks that look at weights, and no other."""

    assignment = "transformer_review"
    folder = "right_without_weights"

    def test_it_loses_only_what_looks_at_weights(self, name):
        missed = failing(self.report(name))
        assert missed
        assert missed.keys() <= WEIGHTS_CHECKS
