"""A right submission gets full marks, whatever its names, layout or style."""

import pytest

from tests.conftest import failing
from tests.grading.corpus import graded, members

WEIGHTS_CHECKS = {"rows_of_weights_sum_to_one", "weights_under_a_mask", "layer_weights"}


@pytest.mark.parametrize("name", members("right"))
def test_a_right_submission_gets_full_marks_and_no_misconception(name):
    report = graded("right")[name]
    assert failing(report) == {}
    assert report.full_marks
    assert [c.misconception for c in report.checks() if c.misconception] == []


@pytest.mark.parametrize("name", members("right_without_weights"))
def test_weights_left_out_cost_the_checks_that_look_at_weights_and_no_other(name):
    missed = failing(graded("right_without_weights")[name])
    assert missed
    assert missed.keys() <= WEIGHTS_CHECKS
