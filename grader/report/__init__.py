"""The report, and one file a writer."""

from grader.report.model import (
    CheckRow,
    Environment,
    Finding,
    MilestoneRow,
    Place,
    Report,
    read_report,
)

__all__ = [
    "CheckRow",
    "Environment",
    "Finding",
    "MilestoneRow",
    "Place",
    "Report",
    "read_report",
]
