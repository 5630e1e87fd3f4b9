"""An auto-grader for what students write when they learn Transformers.

    from pathlib import Path
    from grader import gather, grade, load_assignment

    assignment = load_assignment("multi_head_attention")
    report = grade(gather(Path("attention.py")), "attention.py", assignment)

Names are looked up lazily, so that importing the package does not import torch.
"""

from importlib import import_module
from typing import Any

_HOMES = {
    "Assignment": "grader.assignment",
    "Grader": "grader.grading",
    "Report": "grader.report",
    "gather": "grader.intake",
    "grade": "grader.grading",
    "load_assignment": "grader.assignment",
    "read_report": "grader.report",
}
__all__ = list(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
