"""The submissions in `tests/submissions`: their authors knew only what students are told."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any, ClassVar

from grader.assignment import load_assignment
from grader.audit import audit
from grader.grading import Grader
from grader.intake import gather
from grader.report import Report
from grader.worker.client import make_launcher
from tests.conftest import failing

WEIGHTS_CHECKS = {"rows_of_weights_sum_to_one", "weights_under_a_mask", "layer_weights"}
CORPUS = Path(__file__).resolve().parents[1] / "submissions"


def members(assignment: str, folder: str) -> dict[str, Path]:
    """The submissions in a folder of the corpus, by name without ending."""
    paths = sorted((CORPUS / assignment / folder).iterdir())
    return {p.stem: p for p in paths if p.suffix in (".py", ".ipynb") or p.is_dir()}


def manifest(assignment: str, folder: str) -> dict[str, Any]:
    """What each submission of a folder gets wrong."""
    path = CORPUS / assignment / folder / "manifest.toml"
    return tomllib.loads(path.read_text(encoding="utf-8"))


@cache
def graded(assignment: str, folder: str) -> dict[str, Report]:
    """The reports of a folder, graded in one batch when first asked for."""
    named = [(name, gather(path)) for name, path in members(assignment, folder).items()]
    with make_launcher() as launcher:
        reports = Grader(load_assignment(assignment), launcher).grade_all(named)
    return {report.submission: report for report in reports}


def lost(report: Report) -> set[str]:
    """The milestones that lose points, the questions aside."""
    return {
        milestone.id
        for milestone in report.milestones
        if milestone.id != "questions" and milestone.score < milestone.max_score
    }


class Corpus:
    """Tests of one folder of the corpus; `name` runs over its submissions."""

    assignment: ClassVar[str]
    folder: ClassVar[str]

    def report(self, name: str) -> Report:
        return graded(self.assignment, self.folder)[name]

    def entries(self) -> dict[str, Any]:
        return manifest(self.assignment, self.folder)


class RightSubmissions(Corpus):
    """A right submission gets full marks, whatever its names, layout or style."""

    folder = "right"

    def test_it_gets_full_marks_and_no_misconception(self, name):
        report = self.report(name)
        assert failing(report) == {}
        assert report.code_is_right
        assert [c.misconception for c in report.code() if c.misconception] == []

    def test_the_audit_counts_no_false_rejection(self):
        reports = list(graded(self.assignment, self.folder).values())
        found = audit(load_assignment(self.assignment), [], reports)
        assert len(found.right) == len(reports)
        assert found.rejected == ()


class WrongSubmissions(Corpus):
    """A wrong submission never gets full marks, and is told which mistake it is."""

    folder = "wrong"

    def test_it_loses_points_where_its_mistake_is(self, name):
        report = self.report(name)
        assert report.status == "graded"
        assert lost(report)
        assert lost(report) >= set(self.entries()[name]["milestones"])

    def test_its_misconception_is_named(self, name):
        diagnosed = self.entries()[name].get("diagnosed")
        named = {check.misconception for check in self.report(name).code()}
        assert diagnosed is None or diagnosed in named

    def test_every_lost_point_is_explained(self, name):
        for check in self.report(name).code():
            if check.status != "passed":
                assert check.message, check.id
            if check.status == "failed":
                assert check.hint
                assert check.lesson
                assert check.location or "not defined" in check.message

    def test_its_score_is_the_sum_of_points_that_were_earned(self, name):
        partial = {c.id: c.partial for _, c in load_assignment(self.assignment).checks()}
        for check in self.report(name).code():
            if check.status == "passed":
                assert check.score == check.max_score
            else:
                assert check.score <= check.max_score * partial[check.id]

    def test_every_submission_is_described(self):
        assert members(self.assignment, self.folder).keys() == self.entries().keys()

    def test_every_check_is_failed_by_some_submission(self):
        failed = {
            check.id
            for report in graded(self.assignment, self.folder).values()
            for check in report.code()
            if check.status not in ("passed", "blocked")
        }
        own = {c.id for _, c in load_assignment(self.assignment).checks() if not c.from_}
        assert own - failed == set()  # those of other assignments are proved there


class BrokenSubmissions(Corpus):
    """What exits, hangs, floods or is no Python gets its report, and hurts no other."""

    folder = "broken"

    def test_it_gets_every_row_and_loses_where_it_is_broken(self, name):
        report = self.report(name)
        assert report.status in ("graded", "refused")
        expected = [c.id for _, c in load_assignment(self.assignment).checks()]
        assert [c.id for c in report.code()] == expected
        assert lost(report) >= set(self.entries()[name]["milestones"])

    def test_every_submission_is_described(self):
        assert members(self.assignment, self.folder).keys() == self.entries().keys()
