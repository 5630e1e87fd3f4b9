"""The smallest input on which a failure still shows, and code that shows it.

Sizes are cut one by one to the least that still fails, then numbers are rounded. What counts as the
same failure is for the caller to say, so that shrinking never slips to another mistake.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.errors import CheckFailure, StudentError
from grader.student import Definition

Inputs = dict[str, Tensor | None]
MAX_TRIES = 80  # calls of the student's code
MAX_PASTED = 64  # numbers of a tensor that are written out


@dataclass(frozen=True)
class Axis:
    """A size that several inputs share.

    Attributes:
        at: for each input that has it, its dimension, counted from the last: -1, -2, …
    """

    at: Mapping[str, int]

    def size(self, inputs: Inputs) -> int:
        """How long it is; 1 where no input has it."""
        return max((_size(inputs.get(name), dim) for name, dim in self.at.items()), default=1)

    def cut(self, inputs: Inputs, size: int, last: bool) -> Inputs:
        """The inputs with the first, or the last, so many along this axis."""
        found = dict(inputs)
        for name, dim in self.at.items():
            value = inputs.get(name)
            if value is not None and _size(value, dim) > size:
                start = value.shape[dim] - size if last else 0
                found[name] = value.narrow(dim, start, size).contiguous()
        return found


def _size(value: Tensor | None, dim: int) -> int:
    return value.shape[dim] if value is not None and value.dim() >= -dim else 1


class _Tries:
    """Asks whether inputs still fail, so many times at most."""

    def __init__(self, fails: Callable[[Inputs], bool]) -> None:
        self._fails = fails
        self.left = MAX_TRIES

    def __call__(self, inputs: Inputs) -> bool:
        if self.left <= 0:
            return False
        self.left -= 1
        try:
            return self._fails(inputs)
        except (StudentError, CheckFailure, RuntimeError, IndexError, ValueError):
            return False  # another failure, or no such input can be


def smallest(
    inputs: Inputs,
    axes: Sequence[Axis],
    fails: Callable[[Inputs], bool],
    flatten: bool = False,
) -> Inputs:
    """Inputs that still fail, with each axis as short and each number as round as it gets.

    Args:
        inputs: tensors by name, on which it fails; None is left alone.
        axes: sizes that may be cut, the first to be cut first.
        fails: whether it fails in the same way; may raise StudentError, which counts as no.
        flatten: whether leading dimensions of size 1 may be left out.
    """
    fails = _Tries(fails)
    for _ in range(2):  # a shorter axis may let an earlier one be cut further
        before = [axis.size(inputs) for axis in axes]
        for axis in axes:
            inputs = _shortest(inputs, axis, fails)
        if flatten:
            inputs = _flattest(inputs, fails)
        if [axis.size(inputs) for axis in axes] == before:
            break
    return _roundest(inputs, fails)


def _shortest(inputs: Inputs, axis: Axis, fails: Callable[[Inputs], bool]) -> Inputs:
    for size in range(1, axis.size(inputs)):
        for last in (False, True):
            cut = axis.cut(inputs, size, last)
            if fails(cut):
                return cut
        if size >= 4:  # what needs more than a few is shown as it is
            break
    return inputs


def _flattest(inputs: Inputs, fails: Callable[[Inputs], bool]) -> Inputs:
    """Without the leading dimensions, where they are all of size 1."""
    flat = dict(inputs)
    for name, value in inputs.items():
        if value is not None and value.dim() > 2:
            if set(value.shape[:-2]) != {1}:
                return inputs
            flat[name] = value.reshape(value.shape[-2:])
    changed = any(flat[name] is not value for name, value in inputs.items())
    return flat if changed and fails(flat) else inputs


def _roundest(inputs: Inputs, fails: Callable[[Inputs], bool]) -> Inputs:
    """With numbers of as few digits as still fail."""
    for digits in (0, 1, 2):
        rounded = {
            name: value.round(decimals=digits) + 0.0
            if value is not None and value.is_floating_point()
            else value
            for name, value in inputs.items()
        }
        floats = [v for v in rounded.values() if v is not None and v.is_floating_point()]
        if all(bool(v.any()) for v in floats) and fails(rounded):  # zeros would say little
            return rounded
    return inputs


def code_of_call(definition: Definition, inputs: Mapping[str, object]) -> str:
    """Code that calls a function on inputs and prints what comes back, to be pasted and run.

    Args:
        definition: the function.
        inputs: its arguments in order, by name; a None at the end is left out.
    """
    given = {name: value for name, value in inputs.items() if value is not None}
    call = f"print({definition.spelling}({', '.join(given)}))"
    return "\n".join([*definition.imports(), *pasteable(given), call])


def formula_values(fresh: Mapping[str, Tensor], off: Sequence[str]) -> dict[str, Tensor]:
    """Values for a module's parameters that a line of code can set again; 0 for those in `off`."""
    return {
        name: torch.zeros_like(value)
        if name in off
        else torch.arange(value.numel()).add(7 * number).cos().view(value.shape)
        for number, (name, value) in enumerate(fresh.items())
    }


def code_of_module(
    definition: Definition,
    made_with: Sequence[int],
    inputs: Mapping[str, object],
    off: Sequence[str] = (),
) -> str:
    """Code that makes a module, sets its parameters as `formula_values` does, and calls it.

    Args:
        definition: its class.
        made_with: the constructor's arguments in order.
        inputs: of forward in order, by name; a None at the end is left out.
        off: the parameters that are 0.
    """
    given = {name: value for name, value in inputs.items() if value is not None}
    zero = [f"        if name in {tuple(off)}:", "            p.zero_()"] if off else []
    return "\n".join(
        [
            *definition.imports(),
            f"module = {definition.spelling}({', '.join(map(str, made_with))}).eval()",
            "with torch.no_grad():",
            "    for i, (name, p) in enumerate(module.named_parameters()):",
            "        p.copy_(torch.arange(p.numel()).add(7 * i).cos().view(p.shape))",
            *zero,
            *pasteable(given),
            f"print(module({', '.join(given)}))",
        ]
    )


def pasteable(inputs: Mapping[str, object]) -> list[str]:
    """Lines of Python that make the inputs; an input of many numbers is left out with a remark."""
    lines = []
    for name, value in inputs.items():
        if not isinstance(value, Tensor):
            lines.append(f"{name} = {value!r}")
        elif value.numel() > MAX_PASTED:
            lines.append(f"# {name}: {value.dtype}, shape {tuple(value.shape)}")
        else:
            lines.append(f"{name} = torch.tensor({_literal(value)}{_dtype(value)})")
    return lines


def _dtype(value: Tensor) -> str:
    if value.numel() == 0 or value.dtype not in (torch.float32, torch.int64, torch.bool):
        return f", dtype={value.dtype}"
    return ""


def _literal(value: Tensor) -> str:
    if value.dim():
        return "[" + ", ".join(_literal(row) for row in value) + "]"
    item = value.item()
    return repr(round(item, 6)) if isinstance(item, float) else repr(item)
