"""Where assignments and templates lie, and which assignment a submission is for."""

import tomllib
from collections.abc import Callable
from decimal import Decimal
from functools import cache
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from grader.assignment.questions import load_questions, told
from grader.assignment.rubric import Assignment
from grader.assignment.spelling import nearest_definition, spelled_names
from grader.errors import AssignmentError, InputError
from grader.intake import Submission
from grader.intake.definitions import defined_names

_PACKAGE = Path(__file__).resolve().parents[1]


def _folder(name: str) -> Path:
    """A folder of a source checkout, or of an installed package."""
    checkout = _PACKAGE.parent / name
    return checkout if checkout.is_dir() else _PACKAGE / "assets" / name


def assignment_ids() -> list[str]:
    """The ids of all assignments, sorted."""
    return sorted(path.parent.name for path in _folder("assignments").glob("*/rubric.toml"))


def template_folder(assignment_id: str) -> Path:
    """The folder of what a student starts from.

    Raises:
        InputError: there is no such assignment, or no template for it.
    """
    _check_id(assignment_id)
    folder = _folder("student_template") / assignment_id
    if not folder.is_dir():
        raise InputError(f"The assignment {assignment_id} has no template.")
    return folder


def load_assignment(assignment: str | Path) -> Assignment:
    """The assignment of that id, or in that folder.

    Raises:
        InputError: there is no such assignment.
        AssignmentError: its rubric is not as it must be.
    """
    if isinstance(assignment, str):
        _check_id(assignment)
        folder = _folder("assignments") / assignment
    else:
        folder = assignment
    path = folder / "rubric.toml"
    try:
        data = _read(path)
        rows = cache(lambda name: _rows(folder.parent / name / "rubric.toml"))
        for milestone in data.get("milestones", []):
            milestone["checks"] = [_inherit(check, rows) for check in milestone.get("checks", [])]
        questions = load_questions(folder)
        return Assignment.model_validate({**data, "folder": folder, "questions": questions})
    except (OSError, tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise AssignmentError(f"{path} cannot be read: {error}") from None
    except ValidationError as error:
        raise AssignmentError(f"{path} is not a rubric: {told(error)}") from None


def _read(path: Path) -> dict[str, Any]:
    return tomllib.loads(path.read_text(encoding="utf-8"), parse_float=Decimal)


def _rows(path: Path) -> dict[str, dict[str, Any]]:
    """The checks' rows of a rubric, by id."""
    rows = [row for milestone in _read(path)["milestones"] for row in milestone["checks"]]
    return {row["id"]: row for row in rows}


def _inherit(row: Any, rows: Callable[[str], dict[str, dict[str, Any]]]) -> Any:
    """A check's row, with what it does not say taken from the rubric that its test comes from.

    Args:
        row: as the rubric has it.
        rows: the rows of another assignment, by its id.
    """
    if not isinstance(row, dict) or not isinstance(row.get("from"), str):
        return row
    source = rows(row["from"]).get(str(row.get("id")), {})
    taken = {
        key: source[key] for key in ("component", "hint", "lesson", "seconds") if key in source
    }
    return {**taken, **row}


def recognise(submission: Submission) -> Assignment:
    """The assignment that a submission's definitions fit best.

    Raises:
        InputError: none fits, or two fit equally well.
    """
    every = map(load_assignment, assignment_ids())
    fits = [(share, a) for a in every if (share := _share(submission, a)) > 0]
    if not fits:
        raise InputError(
            no_known_definition(submission, [load_assignment(i) for i in assignment_ids()])
        )
    best = max(share for share, _ in fits)
    chosen = [assignment for share, assignment in fits if share == best]
    if len(chosen) > 1:
        names = " and ".join(assignment.id for assignment in chosen)
        raise InputError(f"The submission fits {names} equally well: say which with --assignment.")
    return chosen[0]


def _share(submission: Submission, assignment: Assignment) -> float:
    """How much of an assignment a submission defines, 0 to 1; 0 for a few names that are near.

    Other names count a little less than the assignment's own, near ones half.
    """
    own, other, near = _found(submission, assignment)
    share = (own + 0.9 * other + 0.5 * near) / len(assignment.names)
    return share if own or other or share >= 0.5 else 0.0


def defines_any(submission: Submission, assignment: Assignment) -> bool:
    """Whether a submission defines anything of an assignment, be it by a near name."""
    return any(_found(submission, assignment))


def _found(submission: Submission, assignment: Assignment) -> tuple[int, int, int]:
    """How many names of the assignment are defined: as such, under another name, by a near one."""
    sources = list(submission.sources.values())
    defined = defined_names(sources)
    spelled = spelled_names(assignment, sources)
    own = sum(name in defined for name in spelled)
    there = sum(other in defined for other in spelled.values())
    missing = [name for name, other in spelled.items() if other not in defined]
    near = sum(nearest_definition(assignment, name, sources) is not None for name in missing)
    return own, there - own, near


def no_known_definition(submission: Submission, assignments: list[Assignment]) -> str:
    """The sentence for a submission in which nothing of these assignments is defined."""
    wanted = ", ".join(dict.fromkeys(name for a in assignments for name in a.names))
    if submission.broken:
        note = next(iter(submission.broken.values()))
        return f"Nothing to grade was found, and a file could not be read. {note.message}"
    return f"No definition of an assignment was found in {submission.name}: expected {wanted}."


def _check_id(assignment_id: str) -> None:
    known = assignment_ids()
    if assignment_id not in known:
        raise InputError(
            f"There is no assignment {assignment_id!r}: choose one of {', '.join(known)}."
        )
