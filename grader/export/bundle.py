"""What a site is given once to grade every submission: the grader, with all that it needs."""

import json
import secrets
from pathlib import Path

from grader.assignment import Assignment
from grader.export.gradescope import GradescopeResults
from grader.export.wheel import make_wheel, pins, zipped
from grader.report.terminal import points

SCRIPTS = Path(__file__).with_name("bundles")
UNFINISHED = (
    "The grading did not finish, so this is not a grade. Submit again; if that does not help, tell "
    "those who teach this course."
)


def gradescope_bundle(assignment: Assignment, secret: str = "", seconds: float = 480) -> bytes:
    """The `autograder.zip` that Gradescope builds an image of.

    Args:
        assignment: what submissions are graded for.
        secret: what inputs are drawn from; "" to draw one for this bundle.
        seconds: that a submission may take; Gradescope itself ends it after ten minutes.
    """
    fallback = GradescopeResults(score=0, execution_time=0, output=UNFINISHED, tests=[])
    files = {
        **_common(assignment, secret),
        "setup.sh": (SCRIPTS / "setup.sh").read_bytes(),
        "run_autograder": (SCRIPTS / "run_autograder").read_bytes(),
        "fallback.json": fallback.to_json().encode(),
        "README.txt": _about(assignment).encode(),
        "settings": f"ASSIGNMENT={assignment.id}\nSECONDS_ALLOWED={int(seconds)}\n".encode(),
    }
    return zipped(files, frozenset({"setup.sh", "run_autograder"}))


def _about(assignment: Assignment) -> str:
    return f"""\
{assignment.title} ({assignment.id}): the autograder of transformer-grader.

Upload the zip as it is: programming assignment, Configure Autograder. Set the assignment's points
to {points(assignment.points)}. Open questions are worth points that a person gives: the answer is
in the test's output, and the score is changed there.

setup.sh         installs Python, where it is missing, and the grader, once
run_autograder   grades a submission
settings         which assignment, and how many seconds a submission may take
secret           what the tests' inputs are drawn from: the same for everybody, known to nobody
fallback.json    what is shown when grading did not finish

To update it, make it anew with `grader bundle gradescope {assignment.id}`. That draws another
secret, unless GRADER_SECRET says which.
"""


def classroom50_bundle(
    assignment: Assignment, secret: str = "", seconds: float = 600
) -> dict[str, bytes]:
    """The files of a Classroom 50 autograder's folder, by name.

    Args:
        assignment: what submissions are graded for.
        secret: what inputs are drawn from; "" to draw one for this bundle.
        seconds: that a submission may take.
    """
    settings = {"assignment": assignment.id, "seconds": seconds}
    return {
        **_common(assignment, secret),
        "autograder.py": (SCRIPTS / "autograder.py").read_bytes(),
        "settings.json": (json.dumps(settings) + "\n").encode(),
    }


def _common(assignment: Assignment, secret: str) -> dict[str, bytes]:
    name, wheel = make_wheel(assignment)
    return {
        name: wheel,
        "constraints.txt": pins().encode(),
        "secret": f"{secret or secrets.token_hex(16)}\n".encode(),
    }
