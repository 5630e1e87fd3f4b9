"""Reads what a course site's download says of its submissions."""

from pathlib import Path
from typing import Any

from grader.errors import InputError
from grader.intake import archives

MAX_BYTES = 50 * 2**20


def gradescope_submitters(download: Path, metadata: str) -> dict[str, tuple[list[str], str]]:
    """Whose the submissions of a Gradescope export are: ids and time by submission's number.

    Args:
        download: the export, a folder or an archive.
        metadata: the path of its `submission_metadata.yml` in it.

    Raises:
        InputError: it cannot be read.
    """
    import yaml  # only this needs it

    loader: Any = getattr(yaml, "CBaseLoader", yaml.BaseLoader)  # everything stays text
    try:
        held = yaml.load(_text(download, metadata), loader)
    except (yaml.YAMLError, RecursionError) as error:
        raise InputError(f"{metadata} cannot be read ({type(error).__name__}).") from None
    found: dict[str, tuple[list[str], str]] = {}
    for name, about in held.items() if isinstance(held, dict) else ():
        if isinstance(name, str) and isinstance(about, dict):
            people = about.get(":submitters")
            ids = [_id(person) for person in people] if isinstance(people, list) else []
            number = name.rpartition("_")[2]
            found[number] = ([i for i in ids if i], str(about.get(":created_at", "")))
    return found


def _text(download: Path, metadata: str) -> bytes:
    if download.is_dir():
        with open(download / metadata, "rb") as file:
            return file.read(MAX_BYTES)
    for entry in archives.entries(download, download.name):
        if entry.name == metadata:
            return entry.read(MAX_BYTES)
    raise InputError(f"{download.name} holds no {metadata}.")


def _id(person: Any) -> str:
    """The institution's number of a submitter, or else the address."""
    if not isinstance(person, dict):
        return ""
    return str(person.get(":sid") or person.get(":email") or "").strip()
