"""What a lane does for hours keeps nothing of what it has done."""

import gc
import weakref

from grader.grading import Grader
from grader.report import Report


def test_a_run_over_many_submissions_keeps_none_of_them(launcher, assignment, right):
    """Of each submission's report, session and worker nothing is left when the next is graded."""
    reports: list[weakref.ref[Report]] = []

    def texts():
        for number in range(6):
            yield f"s{number}", {"m.py": f"{right}# {number}\n".encode()}

    def left():
        gc.collect()
        return [type(each).__name__ for each in gc.get_objects() if type(each).__name__ in KEPT]

    KEPT = {"Session", "Worker", "Submission", "Report"}
    before = left()
    counts = []

    def done(report):
        reports.append(weakref.ref(report))
        del report
        counts.append(len(left()))

    Grader(assignment, launcher).grade_each(texts(), done)
    assert len(reports) == 6
    gc.collect()
    assert [each() for each in reports] == [None] * 6
    assert counts[-1] <= counts[1], counts
    assert len(left()) <= len(before) + 2
