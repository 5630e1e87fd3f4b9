"""Grading: a function from a submission, an assignment and a seed to a report."""

from grader.grading.engine import Grader, grade
from grader.grading.scoring import refusal

__all__ = ["Grader", "grade", "refusal"]
