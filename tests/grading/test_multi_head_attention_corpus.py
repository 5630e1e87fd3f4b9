"""The corpus of `multi_head_attention`: right, wrong and broken submissions."""

from tests.conftest import failing
from tests.grading.corpus import (
    WEIGHTS_CHECKS,
    BrokenSubmissions,
    Corpus,
    RightSubmissions,
    WrongSubmissions,
)


class TestRight(RightSubmissions):
    assignment = "multi_head_attention"


class TestWrong(WrongSubmissions):
    assignment = "multi_head_attention"


class TestBroken(BrokenSubmissions):
    assignment = "multi_head_attention"


class TestRightWithoutWeights(Corpus):
    """Weights left out cost the checks that look at weights, and no other."""

    assignment = "multi_head_attention"
    folder = "right_without_weights"

    def test_it_loses_only_what_looks_at_weights(self, name):
        missed = failing(self.report(name))
        assert missed
        assert missed.keys() <= WEIGHTS_CHECKS
