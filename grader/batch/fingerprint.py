"""What a grading hangs on besides the submission: the assignment's files, the grader, the seed."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from grader.assignment import Assignment
from grader.grading.scoring import version_of
from grader.intake.reader import digest

PACKAGE = Path(__file__).resolve().parents[1]
# Folders of the package that change no verdict: how submissions are handed out, what is written.
WITHOUT_VERDICT = {"batch", "cli", "export", "assets"}
SUFFIXES = {".py", ".toml", ".ini", ".safetensors"}


@dataclass(frozen=True)
class Circumstances:
    """What decides a report, the submission aside.

    Two gradings of the same bytes under the same circumstances come to the same report.

    Attributes:
        assignment: digest over the assignment's files.
        grader: version, digest over the code that decides, and the version of torch.
        seed: digest over the secret that inputs are drawn from.
    """

    assignment: str
    grader: str
    seed: str


def circumstances(assignment: Assignment, secret: str) -> Circumstances:
    """The circumstances of a grading that starts now."""
    seed = digest({"seed": secret.encode("utf-8", "surrogateescape")})
    return Circumstances(digest(assignment_files(assignment)), grader_version(), seed)


def assignment_files(assignment: Assignment) -> dict[str, bytes]:
    """The files that an assignment is made of, by their path from the folder of all assignments.

    Those of the assignments from which it takes checks are among them.
    """
    folders = {assignment.folder.resolve()}
    folders |= {assignment.test_folder(check).resolve() for _, check in assignment.checks()}
    found = {}
    for folder in folders:
        for path in sorted(folder.iterdir()):
            if path.suffix in SUFFIXES and path.is_file():
                found[f"{folder.name}/{path.name}"] = path.read_bytes()
    return dict(sorted(found.items()))


@cache
def grader_version() -> str:
    """The grader's version, a digest over its code, and the version of torch.

    The code counts, and not the version alone, since an assignment's author changes the one without
    the other.
    """
    spec = find_spec("reference")  # found, not imported: it imports torch
    homes = [PACKAGE]
    if spec is not None and spec.origin is not None:
        homes.append(Path(spec.origin).resolve().parent)
    code = {
        f"{home.name}/{path.relative_to(home)}": path.read_bytes()
        for home in homes
        for path in _sources(home)
    }
    short = digest(code).removeprefix("sha256:")[:12]
    return f"{version_of('transformer-grader')}+{short} torch {version_of('torch')}"


def _sources(home: Path) -> Iterator[Path]:
    for path in sorted(home.rglob("*")):
        if path.suffix in SUFFIXES and path.relative_to(home).parts[0] not in WITHOUT_VERDICT:
            yield path
