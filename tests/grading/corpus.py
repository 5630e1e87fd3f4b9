"""The submissions in `tests/submissions`: their authors knew only what students are told."""

import tomllib
from functools import cache
from pathlib import Path
from typing import Any

from grader.assignment import load_assignment
from grader.grading import Grader
from grader.intake import gather
from grader.report import Report
from grader.worker.client import make_launcher

CORPUS = Path(__file__).resolve().parents[1] / "submissions" / "multi_head_attention"


def members(folder: str) -> dict[str, Path]:
    """The submissions in a folder of the corpus, by name without ending."""
    paths = sorted((CORPUS / folder).iterdir())
    return {p.stem: p for p in paths if p.suffix in (".py", ".ipynb") or p.is_dir()}


def manifest(folder: str) -> dict[str, Any]:
    """What each submission of a folder gets wrong."""
    return tomllib.loads((CORPUS / folder / "manifest.toml").read_text(encoding="utf-8"))


@cache
def graded(folder: str) -> dict[str, Report]:
    """The reports of a folder, graded in one batch when first asked for."""
    named = [(name, gather(path)) for name, path in members(folder).items()]
    with make_launcher() as launcher:
        reports = Grader(load_assignment("multi_head_attention"), launcher).grade_all(named)
    return {report.submission: report for report in reports}
