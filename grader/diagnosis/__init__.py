"""Which misconception a behaviour matches, and which parameter plays which role."""

from grader.diagnosis.misconceptions import describe, matching
from grader.diagnosis.roles import Reading, read_by_gradients, read_by_name

__all__ = ["Reading", "describe", "matching", "read_by_gradients", "read_by_name"]
