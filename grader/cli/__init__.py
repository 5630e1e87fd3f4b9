"""The command line: a thin rim around grading."""

from grader.cli.app import main

__all__ = ["main"]
