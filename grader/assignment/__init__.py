"""Assignments: the rubric's models, where assignments lie, and whether one is sound."""

from grader.assignment.catalogue import (
    assignment_ids,
    load_assignment,
    recognise,
    template_folder,
)
from grader.assignment.rubric import Assignment, Check, Component, Limits, Milestone

__all__ = [
    "Assignment",
    "Check",
    "Component",
    "Limits",
    "Milestone",
    "assignment_ids",
    "load_assignment",
    "recognise",
    "template_folder",
]
