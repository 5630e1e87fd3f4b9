"""The grader that runs here, as a wheel, so that another machine grades with the very same."""

import base64
import hashlib
import re
from collections.abc import Iterator
from importlib import metadata
from importlib.util import find_spec
from io import BytesIO
from pathlib import Path
from zipfile import ZIP_DEFLATED, ZipFile, ZipInfo

from packaging.requirements import Requirement

from grader.assignment import Assignment, assignment_ids, load_assignment
from grader.batch.fingerprint import assignment_files
from grader.errors import InputError

NAME = "transformer-grader"
PACKAGE = Path(__file__).resolve().parents[1]
ASSETS = "grader/assets/assignments"
LEFT_OUT = {"__pycache__", "assets"}
WHEEL = (
    "Wheel-Version: 1.0\nGenerator: transformer-grader\nRoot-Is-Purelib: true\nTag: py3-none-any\n"
)
EPOCH = (1980, 1, 1, 0, 0, 0)  # so that the same content is the same file


def make_wheel(assignment: Assignment) -> tuple[str, bytes]:
    """The wheel's name and its bytes: the installed code, and all assignments with the named one.

    Args:
        assignment: one that the wheel has to have, wherever it lies here.

    Raises:
        InputError: the grader is not installed here.
    """
    try:
        distribution = metadata.distribution(NAME)
    except metadata.PackageNotFoundError:
        raise InputError("The grader is not installed here, so it cannot be bundled.") from None
    about = f"{NAME.replace('-', '_')}-{distribution.version}"
    files = dict(_code())
    for each in (*map(load_assignment, assignment_ids()), assignment):
        for path, data in assignment_files(each).items():
            files[f"{ASSETS}/{path}"] = data
    described = f"{about}.dist-info"
    files[f"{described}/METADATA"] = (distribution.read_text("METADATA") or "").encode()
    files[f"{described}/entry_points.txt"] = (
        distribution.read_text("entry_points.txt") or ""
    ).encode()
    files[f"{described}/WHEEL"] = WHEEL.encode()
    record = "".join(f"{path},{_hash(data)},{len(data)}\n" for path, data in sorted(files.items()))
    files[f"{described}/RECORD"] = f"{record}{described}/RECORD,,\n".encode()
    return f"{about}-py3-none-any.whl", zipped(files)


def _code() -> Iterator[tuple[str, bytes]]:
    spec = find_spec("reference")  # found, not imported: it imports torch
    homes = [PACKAGE]
    if spec is not None and spec.origin is not None:
        homes.append(Path(spec.origin).resolve().parent)
    for home in homes:
        for path in sorted(home.rglob("*")):
            inside = path.relative_to(home)
            if path.is_file() and not LEFT_OUT & set(inside.parts) and path.suffix != ".pyc":
                yield f"{home.name}/{inside.as_posix()}", path.read_bytes()


def _hash(data: bytes) -> str:
    digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=")
    return f"sha256={digest.decode()}"


def pins(extras: tuple[str, ...] = ("", "student")) -> str:
    """What is installed here of all that the grader needs: NAME==VERSION a line.

    Args:
        extras: of the grader that are wanted, "" for what it needs anyway.
    """
    found: dict[str, str] = {}
    waiting = [(NAME, extra) for extra in extras]
    seen = set(waiting)
    while waiting:
        name, extra = waiting.pop()
        try:
            distribution = metadata.distribution(name)
        except metadata.PackageNotFoundError:
            continue  # not wanted here, or for another system
        if _plain(name) != NAME:
            found[_plain(name)] = distribution.version.partition("+")[0]
        for text in distribution.requires or ():
            need = Requirement(text)
            if need.marker is None or need.marker.evaluate({"extra": extra}):
                for one in ((need.name, ""), *((need.name, each) for each in need.extras)):
                    if one not in seen:
                        seen.add(one)
                        waiting.append(one)
    return "".join(f"{name}=={version}\n" for name, version in sorted(found.items()))


def _plain(name: str) -> str:
    return re.sub(r"[-_.]+", "-", name).lower()


def zipped(files: dict[str, bytes], executable: frozenset[str] = frozenset()) -> bytes:
    """A zip of these files, the same for the same files.

    Args:
        files: contents by path.
        executable: paths of those that may be executed.
    """
    out = BytesIO()
    with ZipFile(out, "w", ZIP_DEFLATED) as archive:
        for path, data in sorted(files.items()):
            entry = ZipInfo(path, EPOCH)
            entry.compress_type = ZIP_DEFLATED
            entry.create_system = 3  # Unix, so that modes count
            entry.external_attr = (0o100755 if path in executable else 0o100644) << 16
            archive.writestr(entry, data)
    return out.getvalue()
