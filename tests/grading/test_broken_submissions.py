"""A submission that exits, hangs, floods or is no Python gets its report, and hurts no other."""

import pytest

from tests.grading.corpus import graded, manifest, members

BROKEN = manifest("broken")


def test_every_submission_is_described():
    assert members("broken").keys() == BROKEN.keys()


@pytest.mark.parametrize("name", members("broken"))
def test_it_gets_every_row_and_loses_where_it_is_broken(name, assignment):
    report = graded("broken")[name]
    assert report.status in ("graded", "refused")
    assert [c.id for c in report.checks()] == [c.id for _, c in assignment.checks()]
    lost = {m.id for m in report.milestones if m.score < m.max_score}
    assert lost >= set(BROKEN[name]["milestones"])
