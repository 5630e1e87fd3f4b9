"""A submission in a worker: started when first asked, loaded once, started anew after a crash."""

import time
import zlib
from collections.abc import Callable, Iterator
from fnmatch import fnmatchcase
from functools import cached_property
from typing import Any, TypeVar

from grader.assignment import Assignment
from grader.assignment.spelling import nearest_definition, own_definitions, spelled_names
from grader.errors import (
    Frame,
    InputError,
    MissingDefinition,
    PackageNeeded,
    RefusedDefinition,
    StudentCrashed,
    StudentError,
    StudentRaised,
    StudentTimedOut,
)
from grader.intake import Location, Note, Submission
from grader.intake.definitions import (
    choose_modules,
    defined_names,
    definitions,
    is_implemented,
    under_main_guard,
)
from grader.intake.signatures import Signature, signature_of
from grader.policy import Use, disallowed_uses, signs_of_hiding
from grader.sandbox import Isolation, Limits
from grader.student.loading import Plan, Way
from grader.student.order import FORWARD, order_text, other_order
from grader.worker.answers import MALFORMED, FaultModel, raised_by
from grader.worker.client import Launcher, Worker
from grader.worker.protocol import Plain

T = TypeVar("T")
MAX_DOWNFALLS = 2  # of the worker, in calls of one definition
LACKING = {"NameError", "KeyError", "AttributeError", "IndexError"}  # what was left out may be it
ABSENT = {
    "stand-in": "Not installed here, and replaced by what does nothing: {}.",
    "missing": "Imported, but not installed here (nor handed in): {}.",
    "not handed in": "Imported, but not among the files handed in: {}.",
}


class Session:
    """The one way from checks to a submission's code.

    Args:
        submission: what was handed in.
        assignment: what it is graded for.
        launcher: starts workers.
    """

    def __init__(self, submission: Submission, assignment: Assignment, launcher: Launcher) -> None:
        self.submission = submission
        self.assignment = assignment
        sources = submission.sources.values()
        self._spelled = spelled_names(assignment, sources)
        names = self._spelled.values()
        self.modules = choose_modules(sources, names, assignment.module)
        self.uses: list[Use] = disallowed_uses(
            submission.sources,
            names,
            assignment.disallowed,
            [module.path for module in self.modules],
        )
        self._expect_work()
        self.notes: list[Note] = []
        self._note_other_names()
        self._note_other_orders()
        self._launcher = launcher
        self._worker: Worker | None = None
        self.isolation: Isolation = "none"  # of the workers that ran the submission, if any did
        self._found: set[str] = set()
        spelled = set(self._spelled.values())
        self._plan = Plan(submission, self.modules, spelled)
        # As torch re-exports, only the last part of a name counts.
        self._disallowed = [name.rsplit(".", 1)[-1] for name in assignment.disallowed]
        self._replaced = False  # whether a check replaced something in the worker for itself
        self._blinded: list[str] = []
        self._seen_uses: dict[str, RefusedDefinition] = {}
        self._way: Way | None = None
        self._absent: dict[str, str] = {}
        self._load_error: StudentError | None = None
        self._downfalls: dict[str, list[StudentError]] = {}
        self._raised_at_load: list[StudentRaised | PackageNeeded] = []
        self._deadline = time.monotonic() + assignment.limits.submission_seconds
        self._check_deadline = self._deadline
        self._call_seconds = assignment.limits.call_seconds
        self._seed = 0
        self.requests = 0  # that the worker was asked to carry out
        self._once: dict[str, Any] = {}
        self._explained: set[tuple[str, str]] = set()

    def _expect_work(self) -> None:
        """Raise InputError when all there is to grade is stubs, beside a file that is broken.

        It is the broken file that holds the work, and its syntax error is what to mend.
        """
        done = any(
            is_implemented(statement)
            for module in self.modules
            for name, statement in definitions(module).items()
            if name in self._spelled.values()
        )
        if not done and self.submission.broken:
            note = next(iter(self.submission.broken.values()))
            place = note.location or Location(self.submission.name)
            raise InputError(note.message, place.file, place.line, place.cell)

    def _note_other_names(self) -> None:
        own = own_definitions(self.modules)
        for name, spelled in self._spelled.items():
            if spelled != name:
                place = own[spelled].source.locate(own[spelled].statement.lineno)
                self.note(f"Found `{spelled}`; the assignment's name is `{name}`.", place)

    def _note_other_orders(self) -> None:
        """Note arguments in another order, where the rubric leaves it free."""
        if self.assignment.argument_order == "free":
            for name in self.assignment.names:
                for signature, _, _ in self._other_orders(name):
                    text = (
                        f"`{signature.called}` takes its arguments in another order: bound by name."
                    )
                    self.note(text, self.submission.locate(signature.path, signature.line))

    def order_mistakes(self, name: str) -> list[str]:
        """A sentence for each call of a definition whose arguments have another order.

        Args:
            name: the assignment's name for it.

        Returns:
            Empty where the rubric leaves the order free.
        """
        if self.assignment.argument_order == "free":
            return []
        return [order_text(s.called, theirs, ours) for s, theirs, ours in self._other_orders(name)]

    def _other_orders(self, name: str) -> Iterator[tuple[Signature, list[str], list[str]]]:
        component = self.assignment.component(name)
        for methods in [("__init__",), FORWARD] if component.is_module else [()]:
            signature = self.signature(name, methods)
            if signature is not None:
                order = other_order(signature, component, self.assignment)
                if order is not None:
                    yield signature, *order

    def note(self, text: str, place: Location | None = None) -> None:
        """Have the report say something, once however often it is noted."""
        note = Note("note", text, place)
        if note not in self.notes:
            self.notes.append(note)

    @cached_property
    def has_lazy_layers(self) -> bool:
        """Whether the source speaks of layers that make their parameters when first called."""
        sources = self.submission.sources.values()
        return any("nn.Lazy" in chunk.text for source in sources for chunk in source.chunks)

    def spelling(self, name: str) -> str:
        """What the submission calls the definition of that name."""
        return self._spelled[name]

    def signature(self, name: str, methods: tuple[str, ...]) -> Signature | None:
        """How the submission's definition of that name is called, as far as the source shows.

        Args:
            name: the assignment's name for it.
            methods: where it is a class, the methods of which the first that there is counts.
        """
        sources = [*self.modules, *self.submission.sources.values()]
        return signature_of(sources, self.spelling(name), methods)

    def begin_check(self, seconds: float | None) -> None:
        """Give the next check its time: its own, for a single call too, or what is usual."""
        limits = self.assignment.limits
        if self._replaced and self._worker is not None and self._worker.ended is None:
            try:
                self._worker.request("restore", {}, limits.call_seconds)
            except StudentError:
                self.end()  # the next check gets a new one
        self._replaced = False
        self._call_seconds = seconds or limits.call_seconds
        self._check_deadline = time.monotonic() + (seconds or limits.check_seconds)

    def seed(self, seed: int) -> None:
        """Set where the seeds of the next calls start; each call gets the next one.

        So what is random in the student's code is the same in every grading, and yet differs from
        one call to the next.
        """
        self._seed = seed

    def skip(self) -> None:
        """Count a request, be it carried out or not: the seeds of the next ones hang on it."""
        self._seed += 1
        self.requests += 1

    def once(self, key: str, compute: Callable[[], T]) -> T:
        """What `compute` gives, the same for every check that asks for this key.

        Long runs, such as a training, are worth sharing. Seeds depend on the key and not on which
        check comes first. What raises is not kept.
        """
        if key not in self._once:
            seed, self._seed = self._seed, zlib.crc32(key.encode())
            try:
                self._once[key] = compute()
            finally:
                self._seed = seed
        found: T = self._once[key]
        return found

    def require(self, name: str) -> None:
        """See that a definition is there and allowed.

        Args:
            name: the assignment's name for it.

        Raises:
            MissingDefinition: it is not there.
            RefusedDefinition: it uses what the assignment does not allow.
            StudentError: the submission could not be loaded.
        """
        spelled = self.spelling(name)
        for use in self.uses:
            if use.definition == spelled:
                frames = (Frame(use.location.file, use.line, spelled),)
                raise RefusedDefinition(spelled, use.name, frames)
        if spelled in self._seen_uses:
            raise self._seen_uses[spelled]
        if not self.modules:
            raise self._missing(name)
        self._running()
        if spelled not in self._found:
            raise self._missing(name)

    def request(self, name: str, operation: str, arguments: dict[str, Any]) -> Any:
        """Have the worker carry out an operation within the time that is left.

        Args:
            name: the definition concerned. One that brought its worker down twice is not asked
                again, so that code that never ends does not cost its limit in every check.
            operation: one of the runtime's.
            arguments: the operation's.

        Raises:
            StudentError: it came to no answer.
        """
        downfalls = self._downfalls.setdefault(name, [])
        if len(downfalls) >= MAX_DOWNFALLS:
            raise downfalls[0]
        worker = self._running()
        self._replaced = self._replaced or operation == "equal_positions"
        self.skip()
        try:
            try:
                return worker.request(operation, arguments, self._seconds(), self._seed)
            finally:
                self._refuse_what_was_seen(worker, self.spelling(name))
        except (StudentTimedOut, StudentCrashed) as error:
            if downfalls:
                error.cause = downfalls[0].cause
            else:
                error.cause = ("downfall", name)
            downfalls.append(error)
            raise

    def _refuse_what_was_seen(self, worker: Worker, asked: str) -> None:
        """Refuse definitions that were seen to use what is not allowed, though no source shows it.

        Raises:
            RefusedDefinition: the definition that was asked for is one of them.
        """
        known = {"", *self._spelled.values()}
        for use in worker.uses:
            if use.owner not in known or not self._is_disallowed(use.name):
                continue  # no honest worker says so
            if not use.name:
                self._blinded.append("it took away the watch on torch's functions while it ran")
                continue
            owner = use.owner or asked
            frames = tuple(f for f in use.frames if f.file in self.submission.sources)
            if owner not in self._seen_uses:
                self._seen_uses[owner] = RefusedDefinition(owner, f"{use.name} of torch", frames)
                place = self.locate(frames[0]) if frames else None
                self.notes.append(
                    Note(
                        "review",
                        f"`{owner}` was seen to use torch's `{use.name}`, which is not allowed, in "
                        "a way that its source does not show.",
                        place,
                    )
                )
        worker.uses.clear()
        if asked in self._seen_uses:
            raise self._seen_uses[asked]

    def _is_disallowed(self, name: str) -> bool:
        """Whether a name of torch is one that the assignment does not allow; "" is, too."""
        return not name or any(fnmatchcase(name, pattern) for pattern in self._disallowed)

    def blinded_by(self) -> str | None:
        """Why nobody can know what the submission's calls used, in words; None where one can."""
        return self._blinded[0] if self._blinded else None

    def _look_for_hiding(self, way: Way) -> None:
        """Have the report show what of the source that is run is worth a look."""
        for source, statements in self._plan.statements(way):
            for sign in signs_of_hiding(statements):
                place = source.locate(sign.line)
                text = f"Worth a look: the code {sign.what}."
                self.notes.append(Note("review", text, place))
                if sign.blinds:
                    self._blinded.append(f"the code {sign.what}, {place}")

    def end(self) -> None:
        """End the worker."""
        if self._worker is not None:
            self._worker.end()
            self._worker = None

    def locate(self, frame: Frame) -> Location:
        """Where a frame's line stands in what was handed in."""
        return self.submission.locate(frame.file, frame.line)

    def explains(self, name: str, mistake: str) -> bool:
        """Whether a mistake is to be explained at length: the first time that it shows."""
        first = (name, mistake) not in self._explained
        self._explained.add((name, mistake))
        return first

    def import_lines(self, name: str) -> list[str]:
        """The line that imports a definition; none where it stands in a notebook."""
        name = self.spelling(name)
        for module in self.modules:
            if name in definitions(module):
                dotted = module.path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")
                importable = all(part.isidentifier() for part in dotted.split("."))
                if importable and not module.is_notebook:
                    return [f"from {dotted} import {name}"]
                break
        return []

    def _seconds(self) -> float:
        now = time.monotonic()
        limits = self.assignment.limits
        if now >= self._deadline:
            raise StudentTimedOut(f"The submission used up its {limits.submission_seconds:g} s.")
        if now >= self._check_deadline:
            raise StudentTimedOut("The check's time was used up.")
        return min(self._call_seconds, self._check_deadline - now, self._deadline - now)

    def _running(self) -> Worker:
        """A worker with the submission loaded.

        Starting and loading it has limits of its own, and takes nothing from the check's time.
        """
        if self._load_error is not None:
            raise self._load_error
        if self._worker is not None and self._worker.ended is None:
            return self._worker
        self._once.clear()  # it may hold modules of the worker that is gone
        begun = time.monotonic()
        try:
            if self._way is None:
                self._way = self._settle()
                self._note_loading(self._way)
            else:
                self._load(self._way)
        except (StudentTimedOut, StudentCrashed) as error:
            kind = type(error)
            self._load_error = kind(f"While the module was being loaded: {error}")
            self._load_error.cause = ("load",)
            self.end()
            raise self._load_error from None
        finally:
            self._check_deadline += time.monotonic() - begun
        assert self._worker is not None
        return self._worker

    def _settle(self) -> Way:
        """Load the submission in the way that has most of its definitions there.

        What they need comes first. Where that does not end, definitions by themselves do; where
        some are missing then, or names are looked up as texts, everything is run.
        """
        try:
            self._load(Way.NEEDED)
        except (StudentTimedOut, StudentCrashed):
            if not self._plan.differ(Way.NEEDED, Way.DEFINED):
                raise
            self._load(Way.DEFINED)
            return Way.DEFINED
        found = self._found
        wanted = set(self._spelled.values()) if self._plan.makes_names() else self._plan.defined()
        lacks = self._lacking()
        is_complete = wanted <= found and not self._plan.looks_up_by_name() and not lacks
        if is_complete or not self._plan.differ(Way.NEEDED, Way.EVERYTHING):
            return Way.NEEDED
        try:
            self._load(Way.EVERYTHING)
        except (StudentTimedOut, StudentCrashed):
            pass
        else:
            still = self._lacking()
            better = self._plan.looks_up_by_name() or still < lacks
            if self._found > found or (self._found == found and better):
                return Way.EVERYTHING
        self._load(Way.NEEDED)
        return Way.NEEDED

    def _lacking(self) -> int:
        """How many errors at load may come of statements that were left out."""
        return sum(
            isinstance(error, StudentRaised) and error.kind in LACKING
            for error in self._raised_at_load
        )

    def _load(self, way: Way) -> None:
        """Start a worker and have it run the modules."""
        self.end()
        limits = self.assignment.limits
        begun = time.monotonic()
        self._worker = self._launcher.start(
            Limits(
                cpu_seconds=int(limits.submission_seconds) + 10,
                memory_bytes=limits.memory_mb * 2**20,
            ),
            limits.trains,
        )
        self._deadline += time.monotonic() - begun  # which is not the submission's own time
        self.isolation = self._worker.isolation
        arguments = {
            **self._plan.arguments(way),
            "disallowed": self._disallowed,
            "argument_names": Plain(self._argument_names()),
        }
        answer = self._worker.request("load", arguments, limits.load_seconds, self._seed)
        try:
            if not isinstance(answer, dict):
                raise TypeError("not a dict")
            if not all(isinstance(answer[k], list) for k in ("found", "errors", "absent")):
                raise TypeError("not lists")
            found = {str(name) for name in answer["found"]}
            errors = [raised_by(FaultModel.model_validate(fault)) for _, fault in answer["errors"]]
            absent = {str(name): str(kind) for name, kind in answer["absent"]}
        except MALFORMED:
            self._worker.end()
            raise StudentCrashed("What came back is not an answer.") from None
        self._found = found & set(self._spelled.values())
        self._raised_at_load = errors
        self._absent = absent

    def _argument_names(self) -> dict[str, list[str]]:
        """What each argument may be called, by the assignment's own name for it."""
        components = self.assignment.components
        names = {name for c in components for name in (*c.arguments, *(c.forward or ()))}
        return {name: self.assignment.argument_names(name) for name in sorted(names)}

    def _note_loading(self, way: Way) -> None:
        """Have the report say what was not run, what raised, and what is not installed."""
        self.notes.extend(self._plan.notes(way))
        self._look_for_hiding(way)
        if way is Way.DEFINED:
            self.note("What the definitions need came to no end, so they alone were run.")
        for error in self._raised_at_load:
            place = self.locate(error.frames[-1]) if error.frames else None
            if isinstance(error, PackageNeeded):
                self.note(str(error), place)
            else:
                self.note(
                    f"Code at top level raised {error}. What else is defined is graded.", place
                )
        for kind, text in ABSENT.items():
            names = [name for name, of in self._absent.items() if of == kind]
            if names:
                self.note(text.format(", ".join(names[:12])))

    def devices(self) -> list[Frame]:
        """The lines that asked for a device that is not there, since this was last asked."""
        if self._worker is None:
            return []
        found, self._worker.devices = self._worker.devices, []
        return [frame for frame in found if frame.file in self.submission.sources]

    def _missing(self, name: str) -> StudentError:
        sources = self.submission.sources.values()
        if self.spelling(name) in defined_names(sources) and self._raised_at_load:
            return self._never_defined(name)
        for note in self.submission.notes:
            if name in note.defines:
                broken = MissingDefinition(name)
                broken.args = (f"`{name}` stands in {note.location}, which could not be read",)
                return broken
        near = nearest_definition(self.assignment, name, sources)
        if near is None:
            missing = MissingDefinition(name)
            if any(name in under_main_guard(source) for source in sources):
                missing.args = (
                    f'`{name}` stands under `if __name__ == "__main__":`, which does not run when '
                    "the module is imported",
                )
            return missing
        frames = (Frame(near.source.path, near.statement.lineno, near.name),)
        error = MissingDefinition(name, near.name, frames)
        wanted = "class" if self.assignment.component(name).is_module else "function"
        if near.kind in {"class", "function"} - {wanted}:
            error.args = (f"{error}, and it asks for a {wanted}",)
        return error

    def _never_defined(self, name: str) -> StudentError:
        """The error for what the source defines, and loading it did not."""
        error = self._raised_in(name)
        if isinstance(error, PackageNeeded):
            return PackageNeeded(str(error), error.frames)
        why = f"`{self.spelling(name)}` was never defined, because the module raised {error}"
        for note in self.submission.broken.values():
            why += f". {note.message}"
        missing = MissingDefinition(name, frames=error.frames[-1:])
        missing.args = (why.rstrip("."),)
        return missing

    def _raised_in(self, name: str) -> StudentRaised | PackageNeeded:
        """What was raised while the module was loaded, by a definition's own statement if any."""
        for module in self.modules:
            statement = definitions(module).get(self.spelling(name))
            if statement is None:
                continue
            for error in self._raised_at_load:
                lines = {frame.line for frame in error.frames if frame.file == module.path}
                if lines & set(range(statement.lineno, (statement.end_lineno or 0) + 1)):
                    return error
        return self._raised_at_load[0]
