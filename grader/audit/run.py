"""Grades mutants and right submissions for an audit, as any other submission is graded."""

from collections.abc import Callable, Sequence
from pathlib import Path

from grader.assignment import Assignment
from grader.audit.judge import audit
from grader.audit.model import Audit
from grader.batch import find_submissions
from grader.errors import InputError
from grader.grading import Grader
from grader.intake import gather
from grader.report import Report
from reference.misconceptions.mutants import Mutant, submission_files

REFERENCE = "reference"  # what the unchanged reference is called among the right submissions
Submitted = tuple[str, dict[str, bytes]]


def run_audit(
    grader: Grader,
    mutants: Sequence[Mutant],
    right: Path | None = None,
    done: Callable[[Report], None] | None = None,
) -> Audit:
    """Grade the mutants, the unchanged reference, and right submissions, in one run of pytest.

    Args:
        grader: of the assignment that is audited.
        mutants: those that its submissions can be.
        right: a folder whose children are right submissions, or None.
        done: called with each report as soon as it is there.

    Raises:
        InputError: nothing can be read in the folder.
    """
    submissions = [
        *_of_mutants(grader.assignment, mutants),
        (REFERENCE, _files(grader.assignment, None)),
        *(_of_folder(right) if right else []),
    ]
    reports = grader.grade_all(submissions, done=done)
    of_mutants = list(zip(mutants, reports, strict=False))
    return audit(grader.assignment, of_mutants, reports[len(mutants) :])


def _of_mutants(assignment: Assignment, mutants: Sequence[Mutant]) -> list[Submitted]:
    return [(mutant.name, _files(assignment, mutant)) for mutant in mutants]


def _files(assignment: Assignment, mutant: Mutant | None) -> dict[str, bytes]:
    return submission_files(assignment.module, assignment.names, mutant)


def _of_folder(folder: Path) -> list[Submitted]:
    if not folder.is_dir():
        raise InputError(f"There is no folder {folder}: name one whose children are submissions.")
    return [(found.id, gather(found.path)) for found in find_submissions([folder])]
