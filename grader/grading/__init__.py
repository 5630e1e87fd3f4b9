"""Grading: a function from a submission, an assignment and a seed to a report."""

from grader.grading.grade import Grader, grade, refusal

__all__ = ["Grader", "grade", "refusal"]
