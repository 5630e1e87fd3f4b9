"""Many submissions: what counts as one, where reports go, and the gradebook."""

from grader.batch.batch import ClassRow, grade_class, load_report, mark_in_class, mark_report
from grader.batch.submissions import Found, find_submissions

__all__ = [
    "ClassRow",
    "Found",
    "find_submissions",
    "grade_class",
    "load_report",
    "mark_in_class",
    "mark_report",
]
