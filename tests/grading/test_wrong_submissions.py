"""A wrong submission never gets full marks, and is told which mistake it is."""

from decimal import Decimal

import pytest

from tests.grading.corpus import graded, manifest, members

WRONG = manifest("wrong")


def test_every_submission_is_described():
    assert members("wrong").keys() == WRONG.keys()


@pytest.mark.parametrize("name", members("wrong"))
def test_it_loses_points_where_its_mistake_is(name):
    report = graded("wrong")[name]
    assert report.status == "graded"
    lost = {m.id for m in report.milestones if m.score < m.max_score}
    assert lost >= set(WRONG[name]["milestones"])
    assert lost


@pytest.mark.parametrize("name", [n for n, entry in WRONG.items() if "diagnosed" in entry])
def test_its_misconception_is_named(name):
    named = {c.misconception for c in graded("wrong")[name].checks()}
    assert WRONG[name]["diagnosed"] in named


def test_every_check_is_failed_by_some_submission(assignment):
    failed = {
        check.id
        for report in graded("wrong").values()
        for check in report.checks()
        if check.status not in ("passed", "blocked")
    }
    assert failed == {check.id for _, check in assignment.checks()}


def test_every_lost_point_is_explained():
    for report in graded("wrong").values():
        for check in report.checks():
            if check.status != "passed":
                assert check.message, (report.submission, check.id)
            if check.status == "failed":
                assert check.hint
                assert check.lesson
                assert check.location or "not defined" in check.message


def test_scores_are_sums_of_points_that_were_earned():
    for report in graded("wrong").values():
        for check in report.checks():
            assert check.score == (check.max_score if check.status == "passed" else Decimal(0))
