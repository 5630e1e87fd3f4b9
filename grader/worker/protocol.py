"""Frames between the trusted end and the worker: a JSON header and a safetensors body.

    magic "TGF1" · header length (u32) · body length (u64) · header (UTF-8 JSON) · body

Values are trees: None, bool, int, finite float and str stand for themselves in the JSON; everything
else is an object with a key "k" that says its kind (`encode` lists them). Tensors lie in the body
under the names "0", "1", …. Nothing is ever pickled or evaluated. Both ends use this module, and in
the worker it is, with `runtime`, all that there is of the project.
"""

import dataclasses
import json
import math
import re
import socket
import struct
import time
from collections.abc import Mapping
from typing import Any

import torch

MAGIC = b"TGF1"
PREFIX = struct.Struct(">4sIQ")
MAX_HEADER = 8 * 2**20  # bytes
MAX_BODY = 256 * 2**20  # bytes
MAX_DEPTH = 12
MAX_NODES = 20_000
MAX_FIELDS = 16  # of an object that counts as a simple one
MAX_TEXT = 4_000  # characters of one string
MAX_INT = 2**63 - 1
ADDRESS = re.compile(r" at 0x[0-9A-Fa-f]+\b")

# what travels, each with its name in safetensors
DTYPES = {
    torch.float64: "F64", torch.float32: "F32", torch.float16: "F16", torch.bfloat16: "BF16",
    torch.int64: "I64", torch.int32: "I32", torch.int16: "I16", torch.int8: "I8",
    torch.uint8: "U8", torch.bool: "BOOL",
}  # fmt: skip
RECEIVED = 2**16  # bytes that are asked for at least, so that a small frame comes at once
_dump = json.JSONEncoder(allow_nan=False, separators=(",", ":")).encode


class ProtocolError(Exception):
    """What came over the socket is not a frame, or breaks a limit."""


class ConnectionEnded(ProtocolError):
    """The other end closed the socket, in the middle of a frame or between two."""


class DeadlinePassed(ProtocolError):
    """No whole frame came before the deadline."""


def clean_text(text: str, limit: int = MAX_TEXT) -> str:
    """`text` without lone surrogates and no longer than `limit` characters."""
    if not text.isascii():
        text = text.encode("utf-8", "replace").decode("utf-8")
    return text if len(text) <= limit else text[: limit - 1] + "…"


def without_addresses(text: str) -> str:
    """A text without the places of objects in memory, which are others in each grading."""
    return ADDRESS.sub("", text)


class Plain:
    """A value of texts, numbers and lists only, that travels as it is; for the trusted side."""

    __slots__ = ("value",)

    def __init__(self, value: Any) -> None:
        self.value = value


class Encoder:
    """Turns one value into a JSON tree and collects its tensors.

    Args:
        keep: called with what can be neither written down nor described well, such as a module;
            returns the number under which the object stays available, or None.
        max_text: characters after which a string is cut.
        keep_layout: whether a transposed tensor arrives transposed, in place of contiguous.
    """

    def __init__(
        self, keep: Any = None, max_text: int = MAX_TEXT, keep_layout: bool = False
    ) -> None:
        self._max_text = max_text
        self._keep_layout = keep_layout
        self.tensors: dict[str, torch.Tensor] = {}
        self._keep = keep
        self._nodes = 0
        self._bytes = 0

    def encode(self, value: Any, depth: int = 0) -> Any:
        """The JSON tree of `value`; raises ProtocolError over the limits."""
        self._nodes += 1
        if depth > MAX_DEPTH:
            raise ProtocolError(f"what was returned is nested deeper than {MAX_DEPTH} levels")
        if self._nodes > MAX_NODES:
            raise ProtocolError(f"what was returned has more than {MAX_NODES} items")
        kind = type(value)
        if value is None or kind is bool:
            return value
        if kind is str:
            return clean_text(value, self._max_text)
        if kind is int:
            if abs(value) > MAX_INT:
                return {
                    "k": "object",
                    "type": "int",
                    "text": f"an integer of {value.bit_length()} bits",
                }
            return value
        if kind is float:
            return value if math.isfinite(value) else {"k": "float", "v": repr(value)}
        if isinstance(value, torch.Tensor):
            return self._tensor(value)
        if kind is Plain:
            return {"k": "plain", "v": value.value}
        # what is exactly one of these is neither kept nor has it fields
        if kind is list or kind is tuple:
            return self._sequence(value, depth)
        if kind is dict:
            return self._mapping(value, depth)
        number = self._keep(value) if self._keep is not None else None
        if number is not None:
            return {"k": "ref", "n": number, "type": _type_name(value)}
        fields = named_fields(value)
        if fields is not None:
            return {
                "k": "fields",
                "type": _type_name(value).rsplit(".", 1)[-1],
                "unpacks": isinstance(value, tuple),
                "names": [clean_text(name, 100) for name in fields],
                "v": [self.encode(item, depth + 1) for item in fields.values()],
            }
        if isinstance(value, (tuple, list)):
            return self._sequence(value, depth)
        if isinstance(value, Mapping):
            return self._mapping(value, depth)
        return self._object(value)

    def _sequence(self, value: tuple[Any, ...] | list[Any], depth: int) -> Any:
        items = [self.encode(item, depth + 1) for item in value]
        return {"k": "tuple" if isinstance(value, tuple) else "list", "v": items}

    def _mapping(self, value: Mapping[Any, Any], depth: int) -> Any:
        pairs = [
            [self.encode(key, depth + 1), self.encode(item, depth + 1)]
            for key, item in value.items()
        ]
        return {"k": "dict", "v": pairs}

    def _tensor(self, value: torch.Tensor) -> Any:
        requires_grad = bool(value.requires_grad)
        if (
            value.layout is not torch.strided
            or value.dtype not in DTYPES
            or value.device.type != "cpu"
        ):
            text = f"dtype {value.dtype}, layout {value.layout}, device {value.device}"
            return {"k": "object", "type": "torch.Tensor", "text": text}
        plain = torch.Tensor.detach(value).as_subclass(torch.Tensor)
        if plain.is_neg():
            plain = plain.resolve_neg()
        self._bytes += plain.numel() * plain.element_size()
        if self._bytes > MAX_BODY - MAX_HEADER:
            raise ProtocolError(f"what was returned has more than {MAX_BODY >> 20} MB")
        name = str(len(self.tensors))
        if self._keep_layout and not plain.is_contiguous():
            order = sorted(range(plain.dim()), key=plain.stride, reverse=True)
            self.tensors[name] = plain.permute(order)
            places = [order.index(axis) for axis in range(plain.dim())]
            return {"k": "tensor", "i": name, "grad": requires_grad, "axes": places}
        self.tensors[name] = plain
        return {"k": "tensor", "i": name, "grad": requires_grad}

    @staticmethod
    def _object(value: Any) -> Any:
        try:
            text = clean_text(without_addresses(repr(value)), 200)
        except Exception as error:
            text = f"(its repr raised {type(error).__name__})"
        return {"k": "object", "type": _type_name(value), "text": text}


def named_fields(value: Any) -> dict[str, Any] | None:
    """The fields of a namedtuple, a dataclass, or a simple object that holds tensors.

    Such an object has a few public attributes, one of them a tensor. A mapping has keys, not
    fields. None for everything else.
    """
    kind = type(value)
    if isinstance(value, tuple):
        names = getattr(kind, "_fields", None)
        return dict(zip(names, value, strict=True)) if isinstance(names, tuple) else None
    if isinstance(value, (type, Mapping, list, torch.Tensor, torch.nn.Module)):
        return None
    if dataclasses.is_dataclass(value):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    attributes = getattr(value, "__dict__", None)
    if type(attributes) is not dict or callable(value):
        return None
    public = {name: item for name, item in attributes.items() if not str(name).startswith("_")}
    holds_tensor = any(isinstance(item, torch.Tensor) for item in public.values())
    return public if holds_tensor and len(public) <= MAX_FIELDS else None


def _type_name(value: Any) -> str:
    return clean_text(f"{type(value).__module__}.{type(value).__qualname__}", 200)


def decode(
    node: Any, tensors: Mapping[str, torch.Tensor], deref: Any = None, depth: int = 0
) -> Any:
    """The value of a JSON tree; the worker's way of reading requests.

    Args:
        node: the tree.
        tensors: the frame's body.
        deref: gives the object kept under a number.
    """
    if depth > MAX_DEPTH:
        raise ProtocolError(f"nested deeper than {MAX_DEPTH} levels")
    if not isinstance(node, dict):
        return node
    kind = node["k"]
    if kind == "tensor":
        tensor = tensors[node["i"]]
        return tensor.permute(node["axes"]) if "axes" in node else tensor
    if kind == "float":
        return float(node["v"])
    if kind == "plain":
        return node["v"]
    if kind in ("tuple", "list"):
        items = [decode(item, tensors, deref, depth + 1) for item in node["v"]]
        return tuple(items) if kind == "tuple" else items
    if kind == "dict":
        return {
            decode(key, tensors, deref, depth + 1): decode(item, tensors, deref, depth + 1)
            for key, item in node["v"]
        }
    if kind == "ref" and deref is not None:
        return deref(node["n"])
    raise ProtocolError(f"unknown kind {kind!r}")


def save(tensors: Mapping[str, torch.Tensor]) -> bytes:
    """Tensors as safetensors, each contiguous, whatever its own strides.

    The library's own function takes four times as long for tensors as small as these: it looks for
    memory that they share, and copies one by one.
    """
    entries, parts, begin = {}, [], 0
    for name, tensor in tensors.items():
        # numpy has no bfloat16; its bits are what travels
        array = (tensor.view(torch.int16) if tensor.dtype is torch.bfloat16 else tensor).numpy()
        end = begin + array.nbytes
        entries[name] = {
            "dtype": DTYPES[tensor.dtype],
            "shape": array.shape,
            "data_offsets": (begin, end),
        }
        parts.append(array.tobytes())
        begin = end
    head = _dump(entries).encode()
    head += b" " * (-len(head) % 8)
    return b"".join((len(head).to_bytes(8, "little"), head, *parts))


def pack(header: dict[str, Any], tensors: dict[str, torch.Tensor]) -> bytes:
    """One frame, ready to send; raises ProtocolError when it is over the limits."""
    head = _dump(header).encode()
    body = save(tensors) if tensors else b""
    if len(head) > MAX_HEADER or len(body) > MAX_BODY:
        raise ProtocolError(f"frame of {len(head)} + {len(body)} bytes is over the limit")
    return b"".join((PREFIX.pack(MAGIC, len(head), len(body)), head, body))


class Channel:
    """One end of the socket: sends frames, and receives them under a deadline."""

    def __init__(self, sock: socket.socket) -> None:
        self._socket = sock
        self._received = bytearray()  # and not yet asked for

    def send(self, frame: bytes, deadline: float | None = None) -> None:
        """Send a packed frame; raises ConnectionEnded or DeadlinePassed."""
        try:
            self._socket.settimeout(_remaining(deadline))
            self._socket.sendall(frame)
        except TimeoutError:
            raise DeadlinePassed("the other end does not read") from None
        except OSError:
            raise ConnectionEnded("the other end is gone") from None

    def receive(self, deadline: float | None = None) -> tuple[bytes, bytes]:
        """The next frame's header and body; lengths are checked before anything is allocated.

        Args:
            deadline: on `time.monotonic`; None waits for ever.

        Raises:
            ProtocolError: not a frame, or over the limits.
            ConnectionEnded: the socket was closed.
            DeadlinePassed: too late.
        """
        magic, head_length, body_length = PREFIX.unpack(self._exactly(PREFIX.size, deadline))
        if magic != MAGIC:
            raise ProtocolError("not a frame")
        if head_length > MAX_HEADER or body_length > MAX_BODY:
            raise ProtocolError(f"a frame of {head_length} + {body_length} bytes is announced")
        return (
            bytes(self._exactly(head_length, deadline)),
            bytes(self._exactly(body_length, deadline)),
        )

    def close(self) -> None:
        """Close this end."""
        self._socket.close()

    def _exactly(self, length: int, deadline: float | None) -> bytearray:
        received = self._received
        while len(received) < length:
            try:
                self._socket.settimeout(_remaining(deadline))
                part = self._socket.recv(max(RECEIVED, min(length - len(received), 2**20)))
            except TimeoutError:
                raise DeadlinePassed("no answer in time") from None
            except OSError:
                raise ConnectionEnded("the other end is gone") from None
            if not part:
                raise ConnectionEnded("the other end closed the socket")
            received += part
        if len(received) == length:
            self._received = bytearray()
            return received
        data = received[:length]
        del received[:length]
        return data


def _remaining(deadline: float | None) -> float | None:
    if deadline is None:
        return None
    left = deadline - time.monotonic()
    if left <= 0:
        raise TimeoutError
    return left
