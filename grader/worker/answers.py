"""Reads the worker's frames on the trusted side: validated, sized, and then as plain values."""

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Annotated, Any, Literal

import torch
from pydantic import BaseModel, ConfigDict, Discriminator, Field, Tag, ValidationError
from safetensors import SafetensorError, deserialize

from grader.errors import Frame, PackageNeeded, StudentRaised
from grader.worker import protocol
from grader.worker.protocol import MAX_BODY, MAX_DEPTH, MAX_TEXT, ProtocolError

MAX_AXES = 16  # of a tensor
MAX_ELEMENTS = MAX_BODY  # of a tensor
MAX_EMPTY = 100_000  # product of the axes of an empty one that are not 0
MAX_BRACKETS = 200_000  # of a header, which bounds what validating it costs
MAX_TENSORS = 20_000
MAX_TENSORS_HEADER = 4 * 2**20  # bytes
# What comes out when an answer has not the form that an honest worker gives it.
MALFORMED = (
    TypeError, LookupError, ValueError, AttributeError, RuntimeError, ArithmeticError,
)  # fmt: skip
DTYPES = {name: dtype for dtype, name in protocol.DTYPES.items()}


@dataclass(frozen=True)
class Foreign:
    """A value of a kind that does not travel: its type's name, and a text that describes it."""

    type: str
    text: str


@dataclass(frozen=True)
class Kept:
    """A number under which the worker keeps an object, such as a module."""

    number: int
    type: str


class Fields(tuple[Any, ...]):
    """The values of a namedtuple, a dataclass or a simple object; a tuple with names.

    Attributes:
        type: the class's name.
        names: of the values, in order.
        unpacks: whether the student's own object is a tuple, too.
    """

    type: str
    names: tuple[str, ...]
    unpacks: bool

    @classmethod
    def of(cls, names: Iterable[str], values: Iterable[Any], kind: str, unpacks: bool) -> "Fields":
        """The fields of an object of that kind."""
        fields = cls(values)
        fields.type, fields.names, fields.unpacks = kind, tuple(names), unpacks
        return fields


class _Strict(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, strict=True, allow_inf_nan=False)


class _Tensor(_Strict):
    k: Literal["tensor"]
    i: str
    grad: bool


class _Float(_Strict):
    k: Literal["float"]
    v: Literal["nan", "inf", "-inf"]


class _Sequence(_Strict):
    k: Literal["tuple", "list"]
    v: list["Node"]


class _Dict(_Strict):
    k: Literal["dict"]
    v: list[Annotated[list["Node"], Field(min_length=2, max_length=2)]]


class _Fields(_Strict):
    k: Literal["fields"]
    type: Annotated[str, Field(max_length=400)]
    unpacks: bool
    names: list[Annotated[str, Field(max_length=400)]]
    v: list["Node"]


class _Object(_Strict):
    k: Literal["object"]
    type: Annotated[str, Field(max_length=400)]
    text: Annotated[str, Field(max_length=MAX_TEXT)]


class _Ref(_Strict):
    k: Literal["ref"]
    n: Annotated[int, Field(ge=0, lt=2**31)]
    type: str


def _kind(node: Any) -> str:
    if isinstance(node, dict):
        return str(node.get("k"))
    return "scalar"


Node = Annotated[
    Annotated[bool | int | float | str | None, Tag("scalar")]
    | Annotated[_Tensor, Tag("tensor")]
    | Annotated[_Float, Tag("float")]
    | Annotated[_Sequence, Tag("tuple")]
    | Annotated[_Sequence, Tag("list")]
    | Annotated[_Dict, Tag("dict")]
    | Annotated[_Fields, Tag("fields")]
    | Annotated[_Object, Tag("object")]
    | Annotated[_Ref, Tag("ref")],
    Discriminator(_kind),
]


class FrameModel(_Strict):
    """One frame of a traceback."""

    file: Annotated[str, Field(max_length=400)]
    line: Annotated[int, Field(ge=1, lt=2**31)]
    function: Annotated[str, Field(max_length=200)]


class FaultModel(_Strict):
    """An exception in the student's code."""

    type: Annotated[str, Field(max_length=200)]
    message: Annotated[str, Field(max_length=4000)]
    frames: Annotated[list[FrameModel], Field(max_length=20)]


class UseModel(_Strict):
    """Something that the assignment does not allow, and that a call was seen to use."""

    name: Annotated[str, Field(max_length=200)]
    owner: Annotated[str, Field(max_length=200)]
    frame: FrameModel | None


class Answer(_Strict):
    """The header of a worker's answer."""

    id: int
    value: Node = None
    fault: FaultModel | None = None
    devices: Annotated[list[FrameModel], Field(max_length=20)] = []
    uses: Annotated[list[UseModel], Field(max_length=20)] = []


for _model in (_Sequence, _Dict, _Fields, Answer):
    _model.model_rebuild()


def frames_of(models: Iterable[FrameModel]) -> tuple[Frame, ...]:
    """Frames as ours."""
    return tuple(Frame(frame.file, frame.line, frame.function) for frame in models)


def raised_by(fault: FaultModel) -> StudentRaised | PackageNeeded:
    """The exception of the student's code, as one of ours."""
    frames = frames_of(fault.frames)
    if fault.type == "PackageMissing":
        return PackageNeeded(fault.message, frames)
    return StudentRaised(fault.type, fault.message, frames)


def read_answer(head: bytes, body: bytes) -> tuple[Answer, Any]:
    """The validated header, and its value with the tensors in place.

    Raises:
        ProtocolError: the frame is not what an honest worker sends.
    """
    if head.count(b"{") + head.count(b"[") > MAX_BRACKETS:
        raise ProtocolError("the answer's header has too many items")
    try:
        answer = Answer.model_validate_json(head)
    except ValidationError as error:
        raise ProtocolError(
            f"the answer's header is malformed ({error.error_count()} errors)"
        ) from None
    except RecursionError:
        raise ProtocolError("the answer's header is nested too deeply") from None
    try:
        return answer, _value(answer.value, _tensors(body), 0)
    except ProtocolError:
        raise
    except Exception as error:  # whatever it is that the worker sent, it is no answer
        raise ProtocolError(f"the answer cannot be read ({type(error).__name__})") from None


def _tensors(body: bytes) -> dict[str, torch.Tensor]:
    if not body:
        return {}
    length = int.from_bytes(body[:8], "little")
    if length > MAX_TENSORS_HEADER or body[8 : 8 + length].count(b"data_offsets") > MAX_TENSORS:
        raise ProtocolError("the answer's body has too many tensors")
    try:
        entries = deserialize(body)  # type: ignore[no-untyped-call]
    except (SafetensorError, ValueError) as error:
        raise ProtocolError(f"the answer's body is no safetensors: {error}") from None
    tensors = {}
    for name, entry in entries:
        dtype = DTYPES.get(entry["dtype"])
        if dtype is None:
            raise ProtocolError(f"dtype {entry['dtype']} does not travel")
        data, shape = bytearray(entry["data"]), entry["shape"]
        size = math.prod(max(1, axis) for axis in shape)
        if len(shape) > MAX_AXES or size > (MAX_ELEMENTS if entry["data"] else MAX_EMPTY):
            raise ProtocolError("a tensor has more axes, or longer ones, than can be read")
        flat = torch.frombuffer(data, dtype=dtype) if data else torch.empty(0, dtype=dtype)
        try:
            tensors[name] = flat.reshape(shape)
        except RuntimeError:
            raise ProtocolError("a tensor's size does not fit its shape") from None
    return tensors


def _value(node: Any, tensors: Mapping[str, torch.Tensor], depth: int) -> Any:
    if depth > MAX_DEPTH:
        raise ProtocolError(f"nested deeper than {MAX_DEPTH} levels")
    match node:
        case _Tensor():
            if node.i not in tensors:
                raise ProtocolError("a tensor that is announced is not there")
            return tensors[node.i]
        case _Float():
            return float(node.v)
        case _Sequence():
            items = [_value(item, tensors, depth + 1) for item in node.v]
            return tuple(items) if node.k == "tuple" else items
        case _Dict():
            pairs = [[_value(item, tensors, depth + 1) for item in pair] for pair in node.v]
            return {_hashable(key): value for key, value in pairs}
        case _Fields():
            if len(node.names) != len(node.v):
                raise ProtocolError("the names of fields do not fit their values")
            items = [_value(item, tensors, depth + 1) for item in node.v]
            return Fields.of(node.names, items, node.type, node.unpacks)
        case _Object():
            return Foreign(node.type, node.text)
        case _Ref():
            return Kept(node.n, node.type)
        case _:
            return node


def _hashable(key: Any) -> Any:
    if isinstance(key, (str, int, float, bool, type(None), Foreign, Kept)):
        return key
    raise ProtocolError("a dict's key is neither a number nor a text")
