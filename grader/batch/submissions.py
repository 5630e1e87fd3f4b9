"""Which submissions some paths hold: the id of each, whose it is, and which attempt."""

import os
import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from grader.batch.folder import REPORTS, STORE
from grader.batch.layouts import Entry, Layout, last_attempts, recognise
from grader.errors import InputError
from grader.intake import Reading, archives
from grader.intake.files import ending, is_junk
from grader.intake.text import writable

MAX_NAME = 80  # characters, so that a file's name stays below 255 bytes whatever its script
MAX_LISTED = 200_000  # files of a folder that are looked at to recognise a download
LISTED_DEPTH = 6


@dataclass(frozen=True)
class Found:
    """A submission on disk.

    Attributes:
        id: unique in the batch, and fit for a file's name.
        path: its file or folder; or the download that holds it.
        inside: the part of the download that it is, from path in it to path in the download; None
            for all of `path`.
        student: whose it is, as the course site has it; several for a group, with spaces between;
            "" where nobody says.
        attempt: which attempt counts, where the site tells attempts apart.
        late: whether the site marks it as late.
        name: the id that it has where no other is called the same.
        is_there: whether there is anything to grade; not so for a path that does not exist, and a
            folder that holds no submission.
    """

    id: str
    path: Path
    inside: dict[str, str] | None = None
    student: str = ""
    attempt: str = ""
    late: bool = False
    name: str = ""
    is_there: bool = True

    @property
    def file(self) -> str:
        """What it is called on disk."""
        name = next(iter(self.inside.values())) if self.inside else self.path.name
        return os.fsencode(name).decode("utf-8", "replace")

    @property
    def origin(self) -> str:
        """What tells it from others of the same name: the folder that it lies in, and its name."""
        if self.inside:
            return writable(min(self.inside.values()))
        return writable("/".join(Path(os.path.abspath(self.path)).parts[-2:]))


@dataclass
class Hand:
    """What some paths hold.

    Attributes:
        found: the submissions, one a student where the site says who that is.
        earlier: ids of students of whom an earlier attempt was left out, once for each.
        ignored: names of files that are no submission, where no course site made the names.
        links: names of links, which are not followed.
        others: how many files of downloads are no submission.
        sites: the course sites whose downloads were recognised.
    """

    found: list[Found] = field(default_factory=list)
    earlier: list[str] = field(default_factory=list)
    ignored: list[str] = field(default_factory=list)
    links: list[str] = field(default_factory=list)
    others: int = 0
    sites: list[str] = field(default_factory=list)


def find_submissions(paths: list[Path], out: Path | None = None) -> list[Found]:
    """The submissions that the paths hold, as `survey` finds them."""
    with Reading() as reading:
        return survey(paths, reading, out).found


def survey(paths: list[Path], reading: Reading, out: Path | None = None) -> Hand:
    """What the paths hold: submissions, and what was left out.

    A file or an archive is a submission, so is a git checkout, and so is each child of any other
    folder. The download of a course site, a folder or an archive, holds one for each student.

    Two with the same name get different ids, so that none overwrites the other. A path that is not
    there, or a folder that holds nothing, counts as one submission, so that its report says so.
    Links in a folder are left out, as are folders that hold the results of a class.

    Args:
        paths: files and folders.
        reading: looks into archives.
        out: where reports are written; it is no submission.
    """
    hand = Hand()
    unnamed: list[Found] = []
    for path in paths:
        layout = _layout(path, reading)
        if layout is not None:
            unnamed += _downloaded(path, layout, reading, hand)
        elif path.is_dir() and not (path / ".git").exists():
            children = [child for child in sorted(path.iterdir()) if not _is_same(child, out)]
            hand.links += [child.name for child in children if child.is_symlink()]
            children = [child for child in children if not child.is_symlink()]
            fitting = [child for child in children if _is_submission(child)]
            hand.ignored += [
                c.name
                for c in children
                if c.is_file() and not c.name.startswith(".") and c not in fitting
            ]
            unnamed += [Found(child.name, child) for child in fitting]
            if not fitting:
                unnamed.append(Found(_name_of(path), path, is_there=False))
        else:
            unnamed.append(Found(_name_of(path), path, is_there=path.exists()))
    hand.found = with_ids(
        replace(f, name=re.sub(r"[^\w.\-]+", "_", f.id)[:MAX_NAME] or "submission") for f in unnamed
    )
    return hand


def with_ids(found: Iterable[Found], known: Mapping[str, str] | None = None) -> list[Found]:
    """Give each submission an id of its own: its name, with a number where that is taken.

    Args:
        found: the submissions.
        known: ids that were given earlier, each with the origin of the submission that has it. It
            keeps its id, whatever else has come to be called the same.
    """
    found = list(found)
    earlier: defaultdict[str, list[str]] = defaultdict(list)
    for id_, origin in (known or {}).items():
        earlier[origin].append(id_)
    kept: dict[int, str] = {}
    taken: set[str] = set()
    for index, submission in enumerate(found):
        ids = [
            id_
            for id_ in earlier[submission.origin]
            if _is_made_from(id_, submission.name) and id_.casefold() not in taken
        ]
        if ids:
            kept[index] = min(ids, key=len)  # its name, or that with the lowest number
            taken.add(kept[index].casefold())
    result = []
    for index, submission in enumerate(found):
        number, unique = 1, kept.get(index, submission.name)
        while index not in kept and unique.casefold() in taken:
            number += 1
            unique = f"{submission.name}-{number}"
        taken.add(unique.casefold())
        result.append(replace(submission, id=unique))
    return result


def _is_made_from(id_: str, name: str) -> bool:
    """Whether an id is a name, or that with the number of one that is called the same."""
    return re.fullmatch(rf"{re.escape(name)}(-[0-9]+)?", id_, re.IGNORECASE) is not None


def _name_of(path: Path) -> str:
    """What a path is called; that of a link is its own."""
    return Path(os.path.abspath(path)).name


def _layout(path: Path, reading: Reading) -> Layout | None:
    """The layout of a course site's download; None for anything else."""
    if path.is_dir():
        return recognise(_listed(path), path.resolve().name)
    if path.is_file() and path.name.lower().endswith(archives.ENDINGS):
        try:
            names = reading.names(path)
        except InputError:
            return None  # its report will say why
        return recognise(names, path.stem)
    return None


def _listed(root: Path) -> Iterator[str]:
    """The files below a folder, as far as they matter to what layout it has."""
    count = 0
    for folder, subfolders, names in os.walk(root):
        here = Path(folder).relative_to(root)
        if ".git" in subfolders:
            yield (here / ".git" / "HEAD").as_posix()
        subfolders[:] = [s for s in subfolders if s == ".github" or not is_junk(s)]
        if len(here.parts) >= LISTED_DEPTH:
            subfolders.clear()
        for name in names:
            count += 1
            if count > MAX_LISTED:
                return
            yield (here / name).as_posix()


def _downloaded(path: Path, layout: Layout, reading: Reading, hand: Hand) -> Iterator[Found]:
    """The submissions of a download, the last attempt of each student."""
    submitters = {}
    if layout.site == "gradescope" and layout.metadata is not None:
        submitters = reading.submitters(path, layout.metadata)
    entries = [_whose(entry, submitters.get(entry.student)) for entry in layout.entries]
    entries.sort(key=lambda entry: (entry.student, entry.attempt))
    counting, earlier = last_attempts(Layout(layout.site, entries, layout.others))
    hand.earlier += [entry.student for entry in earlier]
    hand.others += len(layout.others)
    hand.sites.append(layout.site)
    for entry in counting:
        names = dict(entry.names)  # by which alone it is told apart: messages show no other name
        yield Found(entry.student, path, names, entry.student, entry.attempt, entry.late)


def _whose(entry: Entry, submitters: tuple[list[str], str] | None) -> Entry:
    """An attempt with its submitters' ids and its time, where the download has them."""
    if submitters is None or not submitters[0]:
        return entry
    students, when = submitters
    return Entry(" ".join(sorted(students)), when, entry.names, entry.late)


def _is_same(path: Path, other: Path | None) -> bool:
    return other is not None and path.resolve() == other.resolve()


def _is_submission(path: Path) -> bool:
    if is_junk(path.name) or (path / STORE).exists():
        return False
    if path.name == REPORTS and (path.parent / STORE).exists():
        return False
    name = path.name.lower()
    return path.is_dir() or ending(name) is not None or name.endswith(archives.ENDINGS)
