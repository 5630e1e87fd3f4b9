"""Proxies for a submission's functions, classes and modules; they are called like the real ones."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, TypeVar

from torch import Tensor

from grader.errors import CheckFailure, Frame, StudentCrashed, StudentRaised, WrongSignature
from grader.student.order import FORWARD
from grader.student.session import Session
from grader.worker.answers import MALFORMED, Foreign, FrameModel, Kept
from grader.worker.protocol import Plain

T = TypeVar("T")
MAX_COUNT = 2**62  # operations of a call
MAX_EVENTS, MAX_EVENT_ELEMENTS = 1_000, 4_096  # of a traced call


@dataclass(frozen=True)
class Event:
    """A tensor that a call computed on its way, by the worker's own word.

    Attributes:
        value: as it was then.
        frame: the innermost line of the student's code that was running, or None.
    """

    value: Tensor
    frame: Frame | None


@dataclass(frozen=True)
class CallResult:
    """What one call came to.

    Attributes:
        returned: the value; a `Layer` where a module was made.
        inputs: the arguments as they were after the call, if asked for.
        operations: arithmetic operations counted, if asked for.
        input_gradients: of the arguments asked for; None where the output does not depend on one,
            and None altogether where the output has no gradient.
        parameter_gradients: by parameter name, likewise.
        events: tensors that were computed on the way, if asked for.
    """

    returned: Any
    inputs: list[Any]
    operations: int | None = None
    input_gradients: list[Tensor | None] | None = None
    parameter_gradients: dict[str, Tensor | None] | None = None
    events: list[Event] | None = None


@dataclass(frozen=True)
class Parameter:
    """A parameter of a student's module."""

    value: Tensor
    requires_grad: bool


class _Callable:
    """Calls something in the worker, with its arguments bound by name or position.

    Attributes:
        name: the assignment's name for the definition.
        spelling: the submission's.
    """

    _methods: tuple[str, ...] = ("__init__",)  # of a class, what a call runs

    def __init__(
        self,
        session: Session,
        name: str,
        arguments: tuple[str, ...],
        keywords: tuple[str, ...] = (),
        omits: bool = False,
    ) -> None:
        self._session = session
        self._omits = omits
        self._arguments = arguments
        self._plain_names = Plain(arguments)
        free = session.assignment.argument_order == "free"
        self._by_name = arguments if free else keywords
        self.name = name
        self.spelling = session.spelling(name)

    def _target(self) -> Any:
        raise NotImplementedError

    def note(self, text: str) -> None:
        """Have the report say something about it, once however often it is noted."""
        signature = self._session.signature(self.name, self._methods)
        place = None
        if signature is not None:
            place = self._session.locate(Frame(signature.path, signature.line, signature.called))
        self._session.note(text, place)

    def _wrong_signature(self, text: str) -> WrongSignature:
        """The error for arguments that could not be bound, with the line of the `def`."""
        signature = self._session.signature(self.name, self._methods)
        if signature is None:
            return WrongSignature(self.spelling, text)
        frame = Frame(signature.path, signature.line, signature.called)
        return WrongSignature(signature.called, text, (frame,))

    def call(
        self,
        *values: Any,
        probe: Tensor | None = None,
        gradients_of: tuple[int, ...] = (),
        count: bool = False,
        echo: bool = False,
        train: bool = False,
        omit_none: bool = False,
        listed: bool = False,
        trace: bool = False,
        **named: Any,
    ) -> CallResult:
        """Call it, and return more than its value.

        Args:
            values: arguments in the assignment's order; tensors are sent as copies.
            probe: with it, gradients of `sum(output · probe)` are computed, where the output is the
                first returned tensor of the probe's shape.
            gradients_of: positions of the arguments whose gradients are wanted.
            count: count operations; then nothing is returned.
            echo: have the arguments sent back as they are after the call.
            train: leave a module that is made in train mode, and keep gradients on.
            omit_none: leave arguments that were not given out, in place of passing None, as is
                always done for a constructor's.
            listed: have iterators in what is returned turned into lists.
            trace: record the tensors that are computed on the way; inputs should be tiny.
            named: arguments by the assignment's names.

        Raises:
            StudentError: the call came to no answer.
        """
        given: dict[str, Any] = dict(zip(self._arguments, values, strict=False))
        given.update(named)
        inputs = [given.get(name) for name in self._arguments]
        request: dict[str, Any] = {
            "target": self._target(),
            "inputs": [v._kept if isinstance(v, Layer) else v for v in inputs],
            "names": self._plain_names,
        }
        if self._by_name:
            request["by_name"] = Plain(self._by_name)
        if omit_none or self._omits:
            places = [i for i, name in enumerate(self._arguments) if name not in given]
            request["omitted"] = Plain(places)
        if probe is not None:
            request["probe"] = probe
        if gradients_of:
            request["gradients_of"] = Plain(gradients_of)
        options = {
            "count": count, "echo": echo, "train": train, "listed": listed, "trace": trace,
        }  # fmt: skip
        request.update({name: True for name, wanted in options.items() if wanted})
        if self._omits:
            request["parameters"] = True  # those of a module are what a check asks for next
        try:
            answer = self._session.request(self.name, "call", request)
        except StudentRaised as error:
            if error.kind == "Unbound" and not error.frames:
                raise self._wrong_signature(error.text) from None
            shown = ", ".join(_shown(name, value) for name, value in given.items())
            error.shown = f"{self.spelling}({shown})"
            raise
        return self._read(answer, probe is not None, len(gradients_of), count, echo, trace)

    def __call__(self, *values: Any, **named: Any) -> Any:
        """The value that a call returns."""
        return self.call(*values, **named).returned

    def _read(
        self, answer: Any, gradients: bool, wanted: int, count: bool, echo: bool, trace: bool
    ) -> CallResult:
        """The answer as a result, if it has the form that an honest worker gives it."""
        try:
            if not isinstance(answer, dict):
                raise TypeError("not a dict")
            returned = answer["returned"]
            if isinstance(returned, Kept):
                returned = Layer(self._session, self.name, returned, answer.get("parameters"))
            result = CallResult(
                returned,
                _listed(answer["inputs"], len(self._arguments)) if echo else [],
                _count(answer["operations"]) if count else None,
                _tensors(answer["input_gradients"], wanted) if gradients else None,
                _named_tensors(answer["parameter_gradients"]) if gradients else None,
                [_event(event) for event in _listed(answer["events"])] if trace else None,
            )
        except MALFORMED:
            raise StudentCrashed("What came back is not an answer.") from None
        return result

    @property
    def arguments(self) -> tuple[str, ...]:
        """The arguments of a call, by the assignment's names."""
        return self._arguments

    @property
    def has_lazy_layers(self) -> bool:
        """Whether the submission speaks of layers that make their parameters when first called."""
        return self._session.has_lazy_layers

    def explains(self, mistake: str) -> bool:
        """Whether a mistake of this definition is to be explained at length: the first time."""
        return self._session.explains(self.name, mistake)

    def imports(self) -> list[str]:
        """Lines of code that a student puts before a call of it in a new file."""
        return ["import torch", *self._session.import_lines(self.name)]

    def place(self, frame: Frame) -> str:
        """Where a frame's line stands in what was handed in, as text."""
        return str(self._session.locate(frame))


def _shown(name: str, value: Any) -> str:
    """An argument as short text: a tensor by its shape."""
    if isinstance(value, Tensor):
        return f"{name} of shape {tuple(value.shape)}"
    if isinstance(value, Layer):
        return f"{name}={value.spelling}(…)"
    return f"{name}={value!r}"


def _listed(value: Any, length: int | None = None) -> list[Any]:
    """A list of that length, or of at most so many events as a small call has."""
    if not isinstance(value, list) or len(value) > MAX_EVENTS:
        raise ValueError("not a list")
    if length is not None and len(value) != length:
        raise ValueError("a list of another length")
    return value


def _event(event: Any) -> Event:
    value, frame = event["value"], event["frame"]
    if not isinstance(value, Tensor) or value.numel() > MAX_EVENT_ELEMENTS:
        raise TypeError("no tensor of a small call")
    if frame is None:
        return Event(value, None)
    found = FrameModel.model_validate(frame)
    return Event(value, Frame(found.file, found.line, found.function))


def _count(value: Any) -> int:
    if type(value) is not int or not 0 <= value < MAX_COUNT:
        raise ValueError(value)
    return value


def _tensors(value: Any, wanted: int) -> list[Tensor | None] | None:
    if value is None:
        return None
    if not isinstance(value, list) or len(value) != wanted:
        raise ValueError(value)
    if not all(item is None or isinstance(item, Tensor) for item in value):
        raise ValueError(value)
    return value


def _named_tensors(value: Any) -> dict[str, Tensor | None] | None:
    if value is None:
        return None
    if not all(
        isinstance(k, str) and (v is None or isinstance(v, Tensor)) for k, v in value.items()
    ):
        raise ValueError(value)
    return dict(value)


class Definition(_Callable):
    """A function or class of the submission, by the assignment's name."""

    def _target(self) -> str:
        return self.spelling


class Layer(_Callable):
    """A module that the submission made; it lives in the worker, in eval mode unless said."""

    _methods = FORWARD

    def __init__(
        self, session: Session, name: str, kept: Kept, parameters: dict[str, Any] | None = None
    ) -> None:
        component = session.assignment.component(name)
        super().__init__(session, name, component.forward or component.arguments)
        self._kept = kept
        self._made_with = parameters
        self._made_at = session.requests

    def _target(self) -> Kept:
        return self._kept

    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name, in order of registration; shared ones once."""
        if self._made_with is not None and self._made_at == self._session.requests:
            answer = self._made_with  # nothing has run since that could have changed them
            self._session.skip()
        else:
            answer = self._session.request(self.name, "parameters", {"target": self._kept})
        parameters = {}
        try:
            for name, entry in answer.items():
                value = entry["value"]
                if not isinstance(value, Tensor):
                    what = value.text if isinstance(value, Foreign) else type(value).__name__
                    raise CheckFailure(f"The parameter `{name}` is no ordinary tensor ({what}).")
                parameters[str(name)] = Parameter(value, entry["requires_grad"] is True)
        except MALFORMED:
            raise StudentCrashed("What came back is not an answer.") from None
        return parameters

    def set_parameters(self, values: dict[str, Tensor]) -> None:
        """Copy values into parameters, by name."""
        self._session.request(self.name, "set_parameters", {"target": self._kept, "values": values})

    def gradients(self) -> dict[str, Tensor | None]:
        """The gradients that the parameters hold now, by name."""
        answer = self._session.request(self.name, "gradients", {"target": self._kept})
        try:
            gradients = _named_tensors(answer)
        except MALFORMED:
            gradients = None
        if gradients is None:
            raise StudentCrashed("What came back is not an answer.")
        return gradients

    def equal_positions(self, function: str, width: int, length: int) -> None:
        """Give all positions the encoding of the first, as far as the table can be found.

        Args:
            function: the function that makes tables, by the assignment's name.
            width: their last size.
            length: positions that a table has at least.
        """
        request = {
            "target": self._kept,
            "function": self._session.spelling(function),
            "width": width,
            "length": length,
        }
        self._session.request(self.name, "equal_positions", request)

    def watch(self, parameter: str) -> None:
        """Note a parameter's norm whenever the module is called with gradients on, from now on."""
        request = {"target": self._kept, "parameter": parameter}
        self._session.request(self.name, "watch", request)

    def watched(self) -> list[float]:
        """The norms that were noted since `watch`, by the worker's own word."""
        answer = self._session.request(self.name, "watched", {"target": self._kept})
        if not isinstance(answer, list) or not all(type(norm) is float for norm in answer):
            raise StudentCrashed("What came back is not an answer.")
        return answer

    def train(self, mode: bool = True) -> None:
        """Put the module into train mode, or with False into eval mode."""
        self._session.request(self.name, "mode", {"target": self._kept, "train": mode})

    def eval(self) -> None:
        """Put the module into eval mode."""
        self.train(False)


class Student:
    """A submission, as checks see it: its definitions are attributes.

    `student.MultiHeadAttention(d_model=32, n_heads=4)` makes a layer in the worker.
    """

    def __init__(self, session: Session) -> None:
        self._session = session

    def once(self, key: str, compute: Callable[[], T]) -> T:
        """What `compute` gives, shared by every check that asks for this key."""
        return self._session.once(key, compute)

    def __getattr__(self, name: str) -> Definition:
        """The definition of that name; raises MissingDefinition or RefusedDefinition."""
        try:
            component = self._session.assignment.component(name)
        except StopIteration:
            raise AttributeError(name) from None
        self._session.require(name)
        makes_module = component.forward is not None
        return Definition(
            self._session, name, component.arguments, component.keywords, omits=makes_module
        )
