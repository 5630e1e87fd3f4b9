"""The layout of a course site's bulk download, read off the names of its files alone."""

import re
from collections import Counter
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

Site = Literal["moodle", "canvas", "gradescope", "github-classroom", "blackboard"]

JUNK = {"__MACOSX", ".DS_Store", "desktop.ini", "Thumbs.db"}
OUTER = 2  # folders around the whole download, such as a zip's and the one it was unpacked into
MAX_NAME = 255  # characters; no site makes longer names, and matching them would take long

MOODLE = re.compile(
    r"(?P<who>.*?)(?:_(?P<id>[0-9]+))?_assign(?P<kind>submission|feedback)_"
    r"(?P<plugin>[a-z0-9]+)(?:_(?P<rest>.*))?"
)
CANVAS_STUDENTS = (
    r"(?P<late>LATE_)?(?P<name>anon(?:ymous)?)_(?P<user>[0-9A-Za-z]+)",
    r"(?P<name>[^\s./]+?)(?P<late>_LATE|_late)?_(?P<user>[0-9]+)",
)
CANVAS_FILE = r"_(?P<file>[0-9]{3,})_(?P<rest>.+)"  # shorter numbers are a date's, or a part's
CANVAS_OWN = r"_(?:text|link)\.html"
CANVAS_QUIZ = re.compile(r".*[0-9]_question")  # what stands before the numbers there
CANVAS_NO_FILE = re.compile(  # a year, or a date
    "[0-9]{1,4}|(?:20)?[0-9]{2}[01][0-9][0-3][0-9]|[0-3][0-9][01][0-9](?:20)?[0-9]{2}"
)
CANVAS_VERSION = re.compile(
    r"(?P<stem>.+)-(?:[1-9][0-9]?|[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12})"
    r"(?P<ending>(?:\.[A-Za-z][0-9A-Za-z]*)*(?:\.[0-9A-Za-z]*)?)"
)
BLACKBOARD = re.compile(
    r"(?P<head>.+?_.+?)_attempt_(?P<when>[0-9]{4}(?:-[0-9]{2}){5})(?:_(?P<rest>.+)|\.txt)"
)
GITHUB_USER = re.compile(r"[0-9A-Za-z][0-9A-Za-z_-]*")


@dataclass(frozen=True)
class Entry:
    """One submission attempt in a download.

    Attributes:
        student: the site's id of the student, or of the group that handed in together: Moodle's
            participant number, Canvas's user id, Gradescope's submission number, Blackboard's and
            GitHub's user name.
        attempt: sorts the attempts of one student; "" where there is only one.
        names: from the path inside the submission to the path inside the download. Each may be a
            file or a folder; {"": folder} where a folder is the submission.
        late: whether the site marks it as late.
    """

    student: str
    attempt: str
    names: dict[str, str]
    late: bool = False


@dataclass(frozen=True)
class Layout:
    """What a download holds.

    Attributes:
        site: where it comes from.
        entries: every attempt, in the order of student, then attempt.
        others: the paths of what belongs to no submission, at the level of the submissions.
        metadata: the path of Gradescope's `submission_metadata.yml`, which says who handed in what.
    """

    site: Site
    entries: list[Entry]
    others: list[str]
    metadata: str | None = None


@dataclass(frozen=True)
class _Level:
    """The names at one level: files, and folders with the paths of what they hold.

    Attributes:
        path: of this level, with a slash at its end; "" at the root.
        outer: the name of the folder or zip that this level is the content of.
        held: for each name the paths below it; empty for a file.
    """

    path: str
    outer: str
    held: dict[str, list[str]]


@dataclass
class _Sorted:
    """The names of a level by what they are to a site.

    Attributes:
        entries: the attempts, by student and attempt.
        fits: the names of students' work.
        own: those that the site itself adds, and what was handed in otherwise than as a file.
        dropped: those of `own` that need not be told.
        metadata: the path of Gradescope's metadata.
    """

    entries: dict[tuple[str, str], Entry] = field(default_factory=dict)
    fits: set[str] = field(default_factory=set)
    own: set[str] = field(default_factory=set)
    dropped: set[str] = field(default_factory=set)
    metadata: str | None = None

    def add(
        self, student: str, attempt: str, inner: str, top: str, path: str, late: bool = False
    ) -> None:
        """Puts a name into a student's attempt; `inner` is what it is called in there."""
        new = Entry(student, attempt, {}, late)
        old = self.entries.setdefault((student, attempt), new)
        names = old.names | {(top if inner in old.names else inner): path + top}
        self.entries[student, attempt] = Entry(student, attempt, names, old.late or late)
        self.fits.add(top)


def recognise(names: Iterable[str], root: str = "") -> Layout | None:
    """The layout of a site's download, or None where the names do not clearly show one.

    At least two thirds of the names at its top must be students' work as that site names it, junk
    and what the site itself adds aside. A folder around the whole download is looked into.

    Args:
        names: relative paths with forward slashes, of all files below the download's root.
        root: what the folder is called, or the zip without its ending, where known: downloads of
            GitHub Classroom, and of Gradescope without metadata, are told by it.
    """
    parts = [[p for p in name.split("/") if p != "."] for name in names if not name.endswith("/")]
    paths = [p for p in parts if p and not any(_is_junk(part) for part in p)]
    path = ""
    for _ in range(OUTER + 1):
        held: dict[str, list[str]] = {}
        for first, *below in paths:
            held.setdefault(first, []).extend(["/".join(below)] if below else [])
        level = _Level(path, root, held)
        for site, sort in SITES.items():
            layout = _layout(site, level, sort(level))
            if layout:
                return layout
        if len(held) != 1 or not all(len(p) > 1 for p in paths):
            return None
        (root,) = held
        path += root + "/"
        paths = [below for _, *below in paths]
    return None


def last_attempts(layout: Layout) -> tuple[list[Entry], list[Entry]]:
    """The attempts that count, the last one of each student, and the earlier ones."""
    last = {entry.student: entry for entry in layout.entries}  # they are in order
    counting = list(last.values())
    return counting, [entry for entry in layout.entries if entry is not last[entry.student]]


def _layout(site: Site, level: _Level, found: _Sorted) -> Layout | None:
    rest = len(level.held) - len(found.own)
    if not found.fits or 3 * len(found.fits) < 2 * rest:
        return None
    entries = sorted(found.entries.values(), key=lambda e: (e.student, e.attempt))
    others = sorted(level.held.keys() - found.fits - found.dropped)
    return Layout(site, entries, [level.path + name for name in others], found.metadata)


def _is_junk(part: str) -> bool:
    return part in JUNK or part.startswith("._")  # macOS's companion files


def _moodle(level: _Level) -> _Sorted:
    """`Full Name_123_assignsubmission_file_`: a folder, or the beginning of a file's name.

    The name may be anything, in any language; only the plugin's name and the number are fixed. A
    group's number takes the participant's place. The default group has none: its name stands in.
    """
    found = _Sorted()
    texts: dict[str, list[str]] = {}
    for top in sorted(level.held):
        match = _match(MOODLE, top)
        if not match:
            continue
        student, inner = match["id"] or match["who"], match["rest"] or ""
        if match["kind"] == "feedback" or match["plugin"] != "file":
            found.own.add(top)
            if match["kind"] == "submission":
                texts.setdefault(student, []).append(top)
        elif student and _is_name(inner, level.held[top]):
            found.add(student, "", inner, top, level.path)
    for student, tops in texts.items():
        if (student, "") in found.entries:
            found.dropped.update(tops)
    return found


class _Upload(NamedTuple):
    """A file that Canvas names `name_user_file_rest`."""

    student: str
    name: str
    number: int  # grows with each upload
    rest: str
    late: bool
    top: str


def _canvas(level: _Level) -> _Sorted:
    """`lastfirst_LATE_12345_67890_name.py`: user, then the file's number, which is unique.

    The zip holds the last submission alone. Canvas keeps all that a student uploads in a course in
    one folder, and calls a second `name.py` there `name-1.py`, though it be for another assignment;
    the zip calls it so, too. The suffix is taken off again: other files of the submission import
    `name`, and none can import `name-1`. It stays where parts of the work would be taken for
    versions of each other: where a student has `name-1.py` and `name-2.py` without `name.py`, as
    more students do than have `name.py`.

    A student who does have several versions, as when two downloads lie in one folder, has as many
    attempts. The last one holds the latest version of each file.
    """
    found = _Sorted()
    uploads = []
    for top in sorted(level.held):
        match = _match_canvas(CANVAS_FILE, top)
        if match and CANVAS_QUIZ.fullmatch(match["name"]):
            found.own.add(top)
        elif match and _is_name(match["rest"], level.held[top]):
            late = match["late"] is not None
            uploads.append(
                _Upload(match["user"], match["name"], int(match["file"]), match["rest"], late, top)
            )
        elif not match and _match_canvas(CANVAS_OWN, top):
            found.own.add(top)
    if not _are_numbers(uploads):
        return found
    restored = _restored(uploads)
    students: dict[str, dict[str, list[_Upload]]] = {}
    for upload in sorted(uploads, key=lambda u: u.number):
        of_one = students.setdefault(upload.student, {})
        of_one.setdefault(restored[upload], []).append(upload)
    for student, of_one in students.items():
        count = max(map(len, of_one.values()))
        for inner, versions in of_one.items():
            for back, upload in enumerate(reversed(versions)):
                attempt = f"{count - back:03}" if count > 1 else ""
                found.add(student, attempt, inner, upload.top, level.path, upload.late)
    return found


def _match_canvas(end: str, top: str) -> re.Match[str] | None:
    matches = [m for student in CANVAS_STUDENTS if (m := _match(re.compile(student + end), top))]
    return next((m for m in matches if m["name"] == m["name"].lower()), None)


def _are_numbers(uploads: list[_Upload]) -> bool:
    """Whether the numbers can be Canvas's: those of a class's own names belong to several things.

    A user has one name. A file has one user, or those of a group, where it is the same file.
    """
    people = {(upload.student, upload.name) for upload in uploads}
    holders = {(upload.number, upload.student) for upload in uploads}
    files = {(upload.number, upload.rest) for upload in uploads}
    students = Counter(number for number, _ in holders)
    rests = Counter(number for number, _ in files)
    return len(dict(people)) == len(people) and not any(
        count > 1 and (rests[number] > 1 or CANVAS_NO_FILE.fullmatch(str(number)))
        for number, count in students.items()
    )


def _restored(uploads: list[_Upload]) -> dict[_Upload, str]:
    """What each file was called before Canvas numbered it."""
    plain = {(upload.student, upload.rest): upload.number for upload in uploads}
    names = Counter(name for _, name in plain)
    found = {upload: CANVAS_VERSION.fullmatch(upload.rest) for upload in uploads}
    base = {upload: m["stem"] + m["ending"] for upload, m in found.items() if m}
    held = Counter((upload.student, name) for upload, name in base.items())
    several = Counter(name for (_, name), count in held.items() if count > 1)

    def is_numbered(upload: _Upload, name: str) -> bool:
        own = upload.student, name
        if own in plain:
            return plain[own] < upload.number  # else there was no `name` yet when it came
        return held[own] == 1 or names[name] >= several[name]

    return {u: base[u] if u in base and is_numbered(u, base[u]) else u.rest for u in uploads}


def _gradescope(level: _Level) -> _Sorted:
    """`assignment_123_export`: a folder `submission_456` each, and `submission_metadata.yml`."""
    found = _Sorted()
    metadata = "submission_metadata.yml"
    if metadata in level.held:
        found.own.add(metadata)
        found.dropped.add(metadata)
        found.metadata = level.path + metadata
    elif not re.fullmatch(r"assignment_[0-9]+_export", level.outer):
        return found  # anybody may call folders so
    for top, held in level.held.items():
        match = re.fullmatch(r"submission_([0-9]+)", top)
        if match and held:
            found.add(match[1], "", "", top, level.path)
    return found


def _github(level: _Level) -> _Sorted:
    """`mask-submissions/mask-user`: checkouts of one assignment, at least two.

    Without the outer folder's name they must be checkouts, and the assignment is the longest
    beginning, up to a dash, that most of them share: users whose names all begin alike up to a
    dash come out shortened.
    """
    found = _Sorted()
    folders = [top for top, held in level.held.items() if held and len(top) <= MAX_NAME]
    outer = re.fullmatch(r"(.+-)submissions", level.outer)
    users = _users(folders, outer[1]) if outer else {}
    if not users:
        folders = [top for top in folders if _is_checkout(level.held[top])]
        shared = Counter(top[: dash.end()] for top in folders for dash in re.finditer("-", top))
        users = _users(folders, max(shared, key=lambda p: (shared[p], len(p)), default="-"))
    for top, user in users.items():
        found.add(user, "", "", top, level.path)
    return found


def _users(folders: list[str], prefix: str) -> dict[str, str]:
    """The user of each folder that begins so; none where that is no sign of an assignment."""
    users = {top: top.removeprefix(prefix) for top in folders if top.startswith(prefix)}
    users = {top: user for top, user in users.items() if GITHUB_USER.fullmatch(user)}
    are_parts = all(user.isdigit() for user in users.values())  # such as lab-1 and lab-2
    return {} if len(users) < 2 or are_parts else users


def _is_checkout(held: list[str]) -> bool:
    return any(path.startswith((".git/", ".github/")) for path in held)


def _blackboard(level: _Level) -> _Sorted:
    """`Assignment_user_attempt_2024-10-01-10-00-00_name.py`, and a receipt `.txt` of each attempt.

    Both assignment and user may hold underscores. The assignment is what the names of all users
    begin with, up to an underscore; where there is one user, all up to the last underscore.
    """
    found = _Sorted()
    matches = [m for top in sorted(level.held) if (m := _match(BLACKBOARD, top))]
    heads = {match["head"] for match in matches}
    assignment = min(heads, default="")
    while not all(head.startswith(assignment) and head != assignment for head in heads):
        assignment = assignment[:-1]
    assignment = assignment[: assignment.rfind("_") + 1]
    for match in matches:
        head, inner = match["head"], match["rest"]
        user = head.removeprefix(assignment) if assignment else head.rpartition("_")[2]
        if inner is None:
            found.own.add(match.string)
        elif user and _is_name(inner, level.held[match.string]):
            found.add(user, match["when"], inner, match.string, level.path)
    return found


def _match(pattern: re.Pattern[str], top: str) -> re.Match[str] | None:
    return pattern.fullmatch(top) if len(top) <= MAX_NAME else None


def _is_name(inner: str, held: list[str]) -> bool:
    """Whether something may be called `inner` in a submission; only a folder may have no name."""
    return bool(held) if not inner else inner not in (".", "..")


SITES: dict[Site, Callable[[_Level], _Sorted]] = {
    "moodle": _moodle,
    "blackboard": _blackboard,
    "gradescope": _gradescope,
    "canvas": _canvas,
    "github-classroom": _github,
}
