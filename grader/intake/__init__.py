"""Reads what a student hands in into a `Submission`. Runs nothing of it."""

from grader.intake.files import gather
from grader.intake.reader import read
from grader.intake.reading import Reading
from grader.intake.submission import Chunk, Location, Note, Source, Submission

__all__ = ["Chunk", "Location", "Note", "Reading", "Source", "Submission", "gather", "read"]
