"""Comparing tensors: form first, values then."""

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor

from grader.errors import CheckFailure, StudentRaised
from grader.worker.answers import Fields, Foreign

RTOL = 1e-4
ATOL = 1e-5
MAX_SHOWN = 24  # elements of a tensor that are printed in full


def show(value: Any) -> str:
    """A value as short text: small tensors in full, larger ones by shape and first elements."""
    if isinstance(value, Tensor):
        if not value.numel():
            return f"an empty tensor of shape {shape_text(value.shape)}"
        if value.numel() <= MAX_SHOWN:
            return _numbers(value)
        first = value.reshape(-1)[:6]
        return f"shape {shape_text(value.shape)}, begins {_numbers(first)[:-1]}, …]"
    if isinstance(value, Foreign):
        return f"{value.type}: {value.text}"
    if isinstance(value, (tuple, list)):
        opening, closing = ("(", ")") if isinstance(value, tuple) else ("[", "]")
        return opening + ", ".join(show(item) for item in value[:6]) + closing
    text = repr(value)
    return text if len(text) <= 200 else text[:199] + "…"


def shape_text(shape: Sequence[int]) -> str:
    """A shape as "(2, 3)"."""
    return "(" + ", ".join(str(size) for size in shape) + ("," if len(shape) == 1 else "") + ")"


def _numbers(value: Tensor) -> str:
    if value.dim() == 0:
        item = value.item()
        if not value.is_floating_point():
            return str(item)
        return f"{item:.4f}" if item == 0 or abs(item) >= 5e-4 else f"{item:.1e}"
    return "[" + ", ".join(_numbers(row) for row in value) + "]"


def kind_text(value: Any) -> str:
    """What kind of value it is, for "expected a tensor, got …"."""
    if isinstance(value, Tensor):
        return f"a tensor of shape {shape_text(value.shape)}"
    if isinstance(value, Foreign):
        return f"{value.type} ({value.text})"
    if isinstance(value, Fields):
        return f"a {value.type} with the fields {', '.join(value.names[:6])}"
    if isinstance(value, (tuple, list)):
        return f"a {type(value).__name__} of {len(value)}: " + ", ".join(
            kind_text(item) for item in value[:4]
        )
    if isinstance(value, dict):
        return f"a dict with the keys {', '.join(str(key) for key in list(value)[:6])}"
    return "None" if value is None else f"{type(value).__name__} {show(value)}"


def assert_tensor(value: Any, shape: Sequence[int], what: str) -> Tensor:
    """See that a value is a float32 tensor of that shape, and return it.

    Args:
        value: what came back.
        shape: what is expected.
        what: how the message calls it.
    """
    expected = f"a tensor of shape {shape_text(shape)}"
    if not isinstance(value, Tensor):
        raise CheckFailure(f"{what}: no tensor came back.", expected, kind_text(value))
    if tuple(value.shape) != tuple(shape):
        squeezed = [size for size in shape if size != 1] == [n for n in value.shape if n != 1]
        raise CheckFailure(
            f"{what} {_has(what)} the wrong shape.",
            shape_text(shape),
            shape_text(value.shape),
            misconception="axis-squeezed" if squeezed and value.dim() < len(shape) else None,
        )
    if value.dtype != torch.float32:
        raise CheckFailure(
            f"{what} {_has(what)} the wrong dtype.", "torch.float32", str(value.dtype)
        )
    return value


def is_close(got: Tensor, expected: Tensor, rtol: float = RTOL, atol: float = ATOL) -> bool:
    """Whether both have the same shape, and finite values that agree in the expected dtype."""
    if got.shape != expected.shape or got.is_complex() != expected.is_complex():
        return False
    got = got.to(expected.dtype)
    return bool(torch.isfinite(got).all()) and torch.allclose(got, expected, rtol=rtol, atol=atol)


def assert_close(
    got: Any,
    expected: Tensor,
    what: str,
    shown: str | None = None,
    rtol: float = RTOL,
    atol: float = ATOL,
    misconception: str | None = None,
) -> None:
    """See that a value is a tensor with the expected shape and values.

    Args:
        got: what came back.
        expected: the right values.
        what: how the message calls it, such as "The output".
        shown: the input that shows it, for the message.
        rtol: relative tolerance.
        atol: absolute tolerance.
        misconception: what other values mean.
    """
    tensor = assert_tensor(got, expected.shape, what)
    if is_close(tensor, expected, rtol, atol):
        return
    raise CheckFailure(
        value_message(what, tensor), show(expected), show(tensor), shown, misconception
    )


def _has(what: str) -> str:
    return "have" if what.startswith(("The weights", "The logits")) else "has"


def value_message(what: str, got: Tensor) -> str:
    """The sentence for a tensor of the right form with wrong values."""
    has = _has(what)
    holds = "hold" if has == "have" else "holds"
    if bool(torch.isnan(got).any()):
        return f"{what} {holds} NaN."
    if bool(torch.isinf(got).any()):
        return f"{what} {holds} infinite values."
    return f"{what} {has} wrong values."


def shown_inputs(**inputs: Any) -> str:
    """Inputs as code that can be pasted, or by shape where they are large."""
    parts = []
    for name, value in inputs.items():
        if isinstance(value, Tensor) and value.numel() <= MAX_SHOWN:
            numbers = _numbers(value) if value.dtype != torch.bool else str(value.tolist())
            parts.append(f"{name} = torch.tensor({numbers})")
        elif isinstance(value, Tensor):
            parts.append(f"{name} of shape {shape_text(value.shape)}")
        elif value is not None:
            parts.append(f"{name} = {show(value)}")
    return "\n".join(parts)


@contextmanager
def means(misconception: str | None, raised_only: bool = False) -> Iterator[None]:
    """Say what it means when the checks inside fail, for want of anything more exact.

    Args:
        misconception: its id; None says nothing.
        raised_only: only when the student's code raises.
    """
    try:
        yield
    except StudentRaised as error:
        error.misconception = error.misconception or misconception
        raise
    except CheckFailure as failure:
        if not raised_only:
            failure.misconception = failure.misconception or misconception
        raise


def same_inputs(after: Sequence[Any], before: Sequence[Any], names: Sequence[str]) -> None:
    """See that a call left its arguments as they were."""
    for value, original, name in zip(after, before, names, strict=False):
        if not isinstance(original, Tensor):
            continue
        changed = (
            not isinstance(value, Tensor)
            or value.shape != original.shape
            or value.dtype != original.dtype
            or not torch.equal(value, original)
        )
        if changed:
            raise CheckFailure(
                f"The caller's `{name}` was changed in place.",
                show(original),
                show(value),
                misconception="input-modified",
            )
