"""Which misconception a behaviour matches, and which parameter plays which role."""

from grader.diagnosis.misconceptions import describe, matching, sentence_of
from grader.diagnosis.roles import Reading, read_by_gradients, read_by_name

__all__ = ["Reading", "describe", "matching", "read_by_gradients", "read_by_name", "sentence_of"]
