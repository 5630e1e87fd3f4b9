"""The report, and one file a writer."""

from grader.report.model import (
    SCHEMA,
    CheckRow,
    Environment,
    Finding,
    Isolation,
    MilestoneRow,
    Place,
    Report,
    Status,
    read_report,
)

__all__ = [
    "SCHEMA",
    "CheckRow",
    "Environment",
    "Finding",
    "Isolation",
    "MilestoneRow",
    "Place",
    "Report",
    "Status",
    "read_report",
]
