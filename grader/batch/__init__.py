"""Many submissions: what counts as one, where reports go, and the gradebook."""

from grader.batch.batch import (
    ClassRow,
    class_secret,
    grade_class,
    load_report,
    mark_in_class,
    mark_report,
    write_atomically,
)
from grader.batch.submissions import Found, find_submissions

__all__ = [
    "ClassRow",
    "Found",
    "class_secret",
    "find_submissions",
    "grade_class",
    "load_report",
    "mark_in_class",
    "mark_report",
    "write_atomically",
]
