"""Many submissions: what counts as one, who grades them, where reports go, and the gradebook."""

from grader.batch.batch import Count, grade_class
from grader.batch.executor import Executor, Result, Task
from grader.batch.folder import class_secret, write_atomically
from grader.batch.gradebook import ClassRow, load_report, mark_in_class, mark_report, read_class
from grader.batch.submissions import Found, find_submissions
from grader.batch.watcher import Watcher

__all__ = [
    "ClassRow",
    "Count",
    "Executor",
    "Found",
    "Result",
    "Task",
    "Watcher",
    "class_secret",
    "find_submissions",
    "grade_class",
    "load_report",
    "mark_in_class",
    "mark_report",
    "read_class",
    "write_atomically",
]
