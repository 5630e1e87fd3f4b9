"""The pytest plugin: fixtures for checks, and one run of all checks for each submission.

pytest collects an assignment's tests once. Then, in place of its own loop, this plugin runs all of
them for one submission after the other, so that a further submission costs only its checks.
"""

import inspect
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from fractions import Fraction
from typing import Any, Literal

import pytest

import reference as reference_package
from grader.assignment import Assignment, Check
from grader.checks.draw import Draw, seed_of
from grader.diagnosis import sentence_of
from grader.errors import (
    AssignmentError,
    CheckFailure,
    Frame,
    MissingDefinition,
    RefusedDefinition,
    StudentError,
    StudentRaised,
    WrongSignature,
)
from grader.grading.titles import PREFIX
from grader.report import Status
from grader.student import Session, Student


@dataclass
class Outcome:
    """What one check came to, before it is scored.

    Attributes:
        status: as in the report; "fault" when the grader itself failed.
        message: what is wrong.
        cause: says which errors are one and the same; checks that meet it again are blocked.
        frames: the place in the student's files, where known.
        reached: the share of the recipe's steps that were followed, where they were looked for.
    """

    status: Status | Literal["fault"]
    message: str | None = None
    expected: str | None = None
    got: str | None = None
    misconception: str | None = None
    hint: str | None = None
    cause: tuple[str, ...] | None = None
    frames: tuple[Frame, ...] = ()
    reached: Fraction | None = None


@dataclass
class Run:
    """The checks of one submission.

    Attributes:
        session: the submission.
        outcomes: what each check came to.
        devices: for each check that passed, the lines that asked for a device that is not there.
    """

    session: Session
    outcomes: dict[str, Outcome] = field(default_factory=dict)
    devices: dict[str, list[Frame]] = field(default_factory=dict)


class GradingPlugin:
    """Runs an assignment's checks for submission after submission.

    Args:
        assignment: the assignment.
        secret: what inputs are drawn from besides the check's name; "" for public inputs.
        sessions: the submissions, each as a session; asked for the next when one is done.
        done: called with each run that is complete.
        progress: called with the id of each check before it runs.
    """

    def __init__(
        self,
        assignment: Assignment,
        secret: str,
        sessions: Iterator[Session],
        done: Callable[[Run], None],
        progress: Callable[[str], None],
    ) -> None:
        self._assignment = assignment
        self._secret = secret
        self._sessions = sessions
        self._done = done
        self._progress = progress
        self._checks: dict[str, Check] = {check.id: check for _, check in assignment.checks()}
        self._items: dict[str, list[pytest.Item]] = {}
        self._plain: set[pytest.Item] = set()
        self._run: Run | None = None
        self._seen: dict[tuple[str, ...], str] = {}

    # fixtures

    @pytest.fixture
    def student(self) -> Student:
        """The submission's definitions."""
        given: Student = self._given("student", "")
        return given

    @pytest.fixture
    def reference(self) -> Any:
        """The right implementations."""
        return self._given("reference", "")

    @pytest.fixture
    def draw(self, request: pytest.FixtureRequest) -> Draw:
        """Random inputs, the same for every submission; parametrised cases differ."""
        given: Draw = self._given("draw", request.node.name)
        return given

    @pytest.fixture
    def note(self) -> Callable[[str], None]:
        """Add something for the reader to the report, whatever the check comes to."""
        given: Callable[[str], None] = self._given("note", "")
        return given

    @pytest.fixture
    def passed(self) -> Callable[[str], bool]:
        """Whether an earlier check passed, so that one mistake is not named as another."""
        given: Callable[[str], bool] = self._given("passed", "")
        return given

    def _given(self, fixture: str, test: str) -> Any:
        """What a fixture of this plugin gives a test of that name."""
        assert self._run is not None
        outcomes = self._run.outcomes
        match fixture:
            case "student":
                return Student(self._run.session)
            case "reference":
                return reference_package
            case "draw":
                return Draw(self._assignment.id, test, self._secret)
            case "note":
                return self._run.session.note
        return lambda check: check not in outcomes or outcomes[check].status == "passed"

    # hooks

    def pytest_collection_modifyitems(self, items: list[pytest.Item]) -> None:
        """Sort the tests to their checks; complain where rubric and tests do not fit."""
        found: dict[str, list[pytest.Item]] = {}
        for item in items:
            found.setdefault(check_id(item), []).append(item)
        problems = [
            f"{name}: a test without a row in the rubric"
            for name in found.keys() - self._checks.keys()
        ]
        problems += [f"{name}: a row without a test" for name in self._checks.keys() - found.keys()]
        if problems:
            raise AssignmentError("; ".join(sorted(problems)))
        self._items = {name: found[name] for name in self._checks}
        self._plain = {item for item in items if is_plain(item, self)}

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtestloop(self) -> bool:
        """Run all checks for each submission."""
        for student_session in self._sessions:
            self._run = Run(student_session)
            self._seen = {}
            try:
                for name in running_order(self._checks):
                    self._progress(name)
                    self._run.outcomes[name] = self._guarded_check(name)
                self._sort_outcomes()
                self._fail_for_a_device()
                self._leave_to_a_person()
            finally:
                student_session.end()
            self._done(self._run)
        return True

    def _guarded_check(self, name: str) -> Outcome:
        """Run one check; a fault of the grader around it is that check's, and ends no batch."""
        try:
            return self._run_check(self._checks[name], self._items[name])
        except Exception as error:
            return classify(error)

    def _run_check(self, check: Check, items: list[pytest.Item]) -> Outcome:
        """Run one check, all its cases; the first that does not pass decides."""
        assert self._run is not None
        for needed in check.needs:
            if self._run.outcomes[needed].status != "passed":
                return Outcome("blocked", f"Not tried, because it builds on `{needed}`.")
        self._run.session.begin_check(check.seconds)
        for item in items:
            self._run.session.seed(seed_of(self._assignment.id, item.name, self._secret))
            outcome = self._call(item) if item in self._plain else self._run_protocol(item)
            if outcome.status != "passed":
                return outcome
        asked = self._run.session.devices()
        if asked:
            self._run.devices.setdefault(check.id, asked)
        return Outcome("passed")

    def _call(self, item: Any) -> Outcome:
        """Run a plain test, as pytest would in the end.

        Its protocol of setup, fixtures, reports and teardown takes longer than many checks, and
        would come to the same for each submission.
        """
        given = item.callspec.params if hasattr(item, "callspec") else {}
        item.funcargs = {
            name: given[name] if name in given else self._given(name, item.name)
            for name in item._fixtureinfo.argnames
        }
        try:
            item.config.hook.pytest_pyfunc_call(pyfuncitem=item)
        except (KeyboardInterrupt, pytest.exit.Exception):
            raise
        except BaseException as error:
            return classify(error)
        finally:
            item.funcargs = {}
        return Outcome("passed")

    def _run_protocol(self, item: pytest.Item) -> Outcome:
        """Run a test in pytest's own way."""
        self._outcome: Outcome | None = None
        item.config.hook.pytest_runtest_protocol(item=item, nextitem=None)
        return self._outcome or Outcome("fault", "pytest reported no outcome")

    def _sort_outcomes(self) -> None:
        """Bring the outcomes into the rubric's order, and say once what several of them met."""
        assert self._run is not None
        found = self._run.outcomes
        self._run.outcomes = {
            name: self._with_order(check, self._once(check, found[name]))
            for name, check in self._checks.items()
        }

    def _fail_for_a_device(self) -> None:
        """Have the first check that asked for a GPU, and passed, fail.

        What asks for one ran on the CPU, so that everything else could be graded.
        """
        assert self._run is not None
        if not self._run.devices:
            return
        session = self._run.session
        check, asked = next(iter(self._run.devices.items()))
        lines = ", ".join(dict.fromkeys(str(session.locate(frame)) for frame in asked[:5]))
        message = f"Hard-coded CUDA ({lines}): it was run on the CPU, and so is the rest."
        session.note(message, session.locate(asked[0]))
        sentence = sentence_of("cuda-only") or ""
        self._run.outcomes[check] = Outcome(
            "failed", f"{message} {sentence}", misconception="cuda-only", frames=(asked[0],)
        )

    def _leave_to_a_person(self) -> None:
        """Have nothing pass that may have used what is not allowed, unseen."""
        assert self._run is not None
        why = self._run.session.blinded_by()
        if why is None:
            return
        for name, outcome in self._run.outcomes.items():
            if outcome.status == "passed":
                message = f"Its values are right, but what computed them cannot be told: {why}."
                self._run.outcomes[name] = Outcome("review", message)

    def _with_order(self, check: Check, outcome: Outcome) -> Outcome:
        """The outcome, explained by arguments in another order, which is enough to fail."""
        assert self._run is not None
        if outcome.status not in ("failed", "raised"):
            return outcome
        mistakes = self._run.session.order_mistakes(check.component)
        if not mistakes:
            return outcome
        message = " ".join([*mistakes, outcome.message or ""]).rstrip()
        return replace(outcome, message=message, misconception="wrong-signature")

    def _once(self, check: Check, outcome: Outcome) -> Outcome:
        """The outcome, or "blocked" when an earlier check met the very same cause."""
        says_more = outcome.status == "raised" and outcome.misconception is not None
        if outcome.cause is not None and not says_more:
            earlier = self._seen.setdefault(outcome.cause, check.id)
            if earlier != check.id:
                message = f"Not tried, for the same reason as `{earlier}`: {outcome.message}"
                return Outcome("blocked", message, frames=outcome.frames)
        return outcome

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> pytest.TestReport:
        """Turn what a test raised into an outcome.

        pytest's own report would show the source around each frame, which takes longer than most
        checks, and which nobody reads.
        """
        if call.excinfo is not None:
            if self._outcome is None or self._outcome.status == "passed":
                self._outcome = classify(call.excinfo.value)
        elif call.when == "call":
            self._outcome = Outcome("passed")
        assert call.when != "collect"
        outcome: Literal["passed", "failed"] = "failed" if call.excinfo else "passed"
        return pytest.TestReport(
            item.nodeid, item.location, {}, outcome, None, call.when, duration=call.duration
        )


def running_order(checks: Mapping[str, Check]) -> Iterable[str]:
    """The order in which checks run: the rubric's, where what one needs comes before it."""
    return checks


def check_id(item: pytest.Item) -> str:
    """The id of the check that a test carries out: its function's name without `test_`."""
    name: str = getattr(item, "originalname", None) or item.name
    return name.removeprefix(PREFIX)


def is_plain(item: Any, plugin: object) -> bool:
    """Whether a test is a function that takes only a plugin's fixtures and values of its own cases.

    So there is nothing to set up or to take down. What pytest has for a test besides (fixtures of a
    module, also those that are used without being named, `setup_function`, classes, marks, further
    plugins) makes it another kind.

    Args:
        item: the test, as collected.
        plugin: whose fixtures count.
    """
    if type(item) is not pytest.Function or not inspect.isfunction(item.obj):
        return False
    marks = list(item.iter_markers())
    indirect = [m for m in marks if len(m.args) != 2 or m.kwargs.get("indirect")]
    if any(m.name != "parametrize" for m in marks) or indirect:
        return False
    if item.cls is not None or hasattr(item.module, "pytest_plugins"):
        return False
    listed = [m.args[0].split(",") if isinstance(m.args[0], str) else m.args[0] for m in marks]
    cases = {name.strip() for names in listed for name in names}
    given = item.callspec.params.keys() if hasattr(item, "callspec") else set()
    if given != cases or "request" in item._fixtureinfo.argnames:
        return False
    definitions = item._fixtureinfo.name2fixturedefs
    return all(
        name == "request"
        or [getattr(d.func, "__self__", None) for d in definitions.get(name, ())] == [plugin]
        for name in set(item.fixturenames) - cases
    )


def classify(error: BaseException) -> Outcome:
    """What an exception that came out of a check means."""
    match error:
        case CheckFailure():
            message = error.message
            padding = "padding" in f"{message} {error.shown}"
            sentence = sentence_of(error.misconception or "", padding) or ""
            if sentence not in message and error.misconception != "not-implemented":
                message = f"{message} {sentence}"
            if error.shown:
                message = f"{message}\nFor:\n{error.shown}"
            if error.steps:
                message = f"{message}\n{error.steps}"
            return Outcome(
                error.status,
                message,
                error.expected,
                error.got,
                error.misconception,
                error.hint,
                frames=error.frames,
                reached=error.reached,
            )
        case MissingDefinition():
            return Outcome(
                "failed",
                f"{error}.",
                expected=error.name,
                got=error.nearest,
                misconception="name-misspelt" if error.nearest else None,
                cause=error.cause,
                frames=error.frames,
            )
        case RefusedDefinition():
            return Outcome(
                "refused",
                f"{error}.",
                misconception="disallowed-module",
                cause=error.cause,
                frames=error.frames,
            )
        case WrongSignature():
            return Outcome(
                "failed",
                f"{error}.",
                misconception=error.misconception,
                cause=error.cause,
                frames=error.frames,
            )
        case StudentRaised(kind="NotImplementedError"):
            return Outcome(
                "failed",
                "It is still to be written: it raises NotImplementedError.",
                misconception="not-implemented",
                frames=error.frames[-1:],
                cause=error.cause,
            )
        case StudentRaised():
            call = f"\nFor: {error.shown}" if error.shown else ""
            return Outcome(
                "raised",
                f"It raised {error}{call}",
                cause=error.cause,
                misconception=_misconception_of(error) or error.misconception,
                frames=error.frames[-1:],
            )
        case StudentError():
            return Outcome(error.status, str(error), frames=error.frames[-1:], cause=error.cause)
        case AssertionError():
            return Outcome("failed", str(error).splitlines()[0] if str(error) else None)
    return Outcome("fault", f"{type(error).__name__}: {error}")


def _misconception_of(error: StudentRaised) -> str | None:
    """What an exception means by itself: arguments that do not fit, or a missing GPU."""
    if error.kind == "TypeError" and not error.frames and "argument" in error.text:
        return "wrong-signature"
    if "CUDA" in error.text or "NVIDIA" in error.text:
        return "cuda-only"
    return None
