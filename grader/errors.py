"""Everything that can go wrong, in one tree.

GraderError
├── InputError            what was handed in, or asked for, cannot be graded; one sentence
│   └── IsolationUnavailable  workers cannot be shut in as asked for, or as is needed
├── AssignmentError       a rubric or its checks are not as they must be
├── WorkerUnavailable     the grader could not start or reach a worker: its own fault
├── StudentError          the student's code could not be run to an answer
│   ├── MissingDefinition     a name of the assignment is not defined
│   ├── StudentRaised         it raised
│   │   └── WrongSignature        it cannot be called with the assignment's arguments
│   ├── PackageNeeded         it needs a package that is not installed, or a file not handed in
│   ├── StudentTimedOut       it was still running at its limit
│   ├── StudentCrashed        its process ended, or answered nonsense
│   └── RefusedDefinition     it uses what the assignment disallows
└── CheckFailure          it ran, and a check found something wrong
"""

from dataclasses import dataclass
from fractions import Fraction
from typing import Literal


class GraderError(Exception):
    """Base of all errors of this project."""


class InputError(GraderError):
    """What was handed in cannot be graded; the message is one sentence that says what to do.

    Attributes:
        file: the file concerned, relative to the submission, or None.
        line: the line concerned, or None.
        cell: the notebook cell that the line is in, or None.
    """

    def __init__(
        self,
        message: str,
        file: str | None = None,
        line: int | None = None,
        cell: int | None = None,
    ) -> None:
        super().__init__(message)
        self.file = file
        self.line = line
        self.cell = cell


class AssignmentError(GraderError):
    """A rubric or its checks are not as they must be; for whoever writes assignments."""


class IsolationUnavailable(InputError):
    """Workers cannot be shut in as was asked for, or as grading others' code needs."""


class WorkerUnavailable(GraderError):
    """The grader could not start or reach a worker. Never the student's fault."""


@dataclass(frozen=True)
class Frame:
    """A place in the student's own files: line `line` of `file`, inside `function`."""

    file: str
    line: int
    function: str


class StudentError(GraderError):
    """The student's code could not be run to an answer.

    Attributes:
        status: of the check that meets it.
        frames: the frames of the student's own files, outermost first.
        misconception: what it means, where the check knows.
        cause: says which errors are one and the same, so that one is not reported ten times.
    """

    status: Literal["raised", "failed", "timed_out", "crashed", "refused", "review"] = "raised"
    frames: tuple[Frame, ...] = ()
    misconception: str | None = None
    cause: tuple[str, ...] | None = None


class MissingDefinition(StudentError):
    """A name of the assignment is not defined anywhere in the submission.

    Attributes:
        name: the name.
        nearest: the defined name that was probably meant, or None.
    """

    status = "failed"

    def __init__(
        self, name: str, nearest: str | None = None, frames: tuple[Frame, ...] = ()
    ) -> None:
        super().__init__(
            f"Found `{nearest}`; the assignment's name is `{name}`"
            if nearest
            else f"`{name}` is not defined in the submission"
        )
        self.name = name
        self.nearest = nearest
        self.frames = frames
        self.cause = ("missing", name)


class StudentRaised(StudentError):
    """The student's code raised an exception.

    Attributes:
        kind: the exception's class name.
        text: its message, cut.
        frames: the frames of the student's own files, outermost first.
        shown: the call that raised, as short text.
    """

    def __init__(self, kind: str, text: str, frames: tuple[Frame, ...] = ()) -> None:
        super().__init__(f"{kind}: {text}" if text else kind)
        self.kind = kind
        self.text = text
        self.frames = frames
        self.shown: str | None = None
        if frames:
            self.cause = (kind, text, frames[-1].file, str(frames[-1].line))


class WrongSignature(StudentRaised):
    """A definition cannot be called with the arguments that the assignment fixes.

    Attributes:
        called: what was called: a function, or a class with its method.
    """

    status = "failed"

    def __init__(self, called: str, text: str, frames: tuple[Frame, ...] = ()) -> None:
        super().__init__("TypeError", text, frames)
        self.args = (f"`{called}` {text}",)
        self.called = called
        self.misconception = "wrong-signature"
        self.cause = ("signature", called, text)


class PackageNeeded(StudentError):
    """It needs a package that is not installed here, or a module that was not handed in.

    Whether it would be right with it nobody can say here, so a person must look.
    """

    status = "review"

    def __init__(self, text: str, frames: tuple[Frame, ...] = ()) -> None:
        super().__init__(text)
        self.frames = frames
        self.cause = ("package", text)


class StudentTimedOut(StudentError):
    """The student's code was still running at its limit."""

    status = "timed_out"


class StudentCrashed(StudentError):
    """The process of the student's code ended or answered nonsense."""

    status = "crashed"


class RefusedDefinition(StudentError):
    """A definition uses what the assignment disallows.

    Attributes:
        name: the definition.
        disallowed: what it uses.
    """

    status = "refused"

    def __init__(self, name: str, disallowed: str, frames: tuple[Frame, ...] = ()) -> None:
        super().__init__(
            f"`{name}` uses `{disallowed}`, which this assignment does not allow: "
            "the point is to write it yourself"
        )
        self.name = name
        self.disallowed = disallowed
        self.frames = frames
        self.cause = ("refused", name)


@dataclass
class CheckFailure(GraderError):
    """A check found something wrong.

    Attributes:
        message: what is wrong, in a sentence.
        expected: what was expected, as short text.
        got: what came, as short text.
        shown: the smallest input that shows it, as short text.
        misconception: id of the misconception that the behaviour matches.
        hint: what to look at; the rubric's own hint where None.
        status: "failed", or "review" where a person must look.
        frames: the place in the student's files, where known.
        steps: which steps of the recipe were found, as text of several lines.
        reached: the share of the recipe's steps that were followed, where they were looked for.
    """

    message: str
    expected: str | None = None
    got: str | None = None
    shown: str | None = None
    misconception: str | None = None
    hint: str | None = None
    status: Literal["failed", "review"] = "failed"
    frames: tuple[Frame, ...] = ()
    steps: str | None = None
    reached: Fraction | None = None

    def __str__(self) -> str:
        return self.message
