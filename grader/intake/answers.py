"""The answers in a submission's `ANSWERS`, read off the syntax tree without running anything."""

import ast
import operator
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from grader.intake.definitions import statements
from grader.intake.submission import Location, Note, Source

NAME = "ANSWERS"
MAX_BITS = 1000  # of a whole number in an answer
MAX_POWER = 64  # of a power in an answer, so that no figure grows without bound

_BINARY: dict[type[ast.operator], Callable[[Any, Any], Any]] = {
    ast.Add: operator.add,
    ast.Sub: operator.sub,
    ast.Mult: operator.mul,
    ast.Div: operator.truediv,
    ast.FloorDiv: operator.floordiv,
}


@dataclass(frozen=True)
class Answer:
    """One answer.

    Attributes:
        value: a literal: text, number, None, or a tuple, list or dict of these.
        location: where it stands.
    """

    value: Any
    location: Location


def read_answers(sources: Iterable[Source]) -> tuple[dict[str, Answer], list[Note]]:
    """The answers by question id, and notes on what is no literal.

    `ANSWERS = {…}`, `ANSWERS["id"] = …` and `ANSWERS.update({…})` are read, in the order in which
    they stand; of two answers to a question the last counts. Of several modules, the first that
    has an answer counts.

    Args:
        sources: the submission's modules, those that are graded first.
    """
    answers: dict[str, Answer] = {}
    notes: list[Note] = []
    for source in sources:
        found: dict[str, Answer] = {}
        for key, value in _pairs(source):
            place = source.locate(value.lineno)
            try:
                name = _literal(key)
                if not isinstance(name, str):
                    raise ValueError
                found[name.strip()] = Answer(_literal(value), place)
            except (ValueError, TypeError, ArithmeticError, RecursionError):
                message = f"An answer in {NAME} is no literal, so it was not read."
                notes.append(Note("note", message, place))
        answers = {**found, **answers}
    return answers, notes


def _pairs(source: Source) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The keys and values that a module puts into `ANSWERS`."""
    for statement in statements(source.tree.body):
        match statement:
            case ast.Assign(targets=[*targets], value=value):
                for target in targets:
                    if _is_answers(target):
                        yield from _items(value)
                    elif isinstance(target, ast.Subscript) and _is_answers(target.value):
                        yield target.slice, value
            case ast.AnnAssign(target=target, value=ast.expr() as value) if _is_answers(target):
                yield from _items(value)
            case ast.AugAssign(target=target, op=ast.BitOr(), value=value) if _is_answers(target):
                yield from _items(value)
            case ast.Expr(
                value=ast.Call(func=ast.Attribute(value=target, attr="update"), args=[value])
            ) if _is_answers(target):
                yield from _items(value)


def _is_answers(target: ast.expr) -> bool:
    return isinstance(target, ast.Name) and target.id == NAME


def _items(value: ast.expr) -> Iterator[tuple[ast.expr, ast.expr]]:
    """The entries of a dict display, or of `dict(…)` around one."""
    if isinstance(value, ast.Dict):
        yield from ((k, v) for k, v in zip(value.keys, value.values, strict=True) if k is not None)
    elif isinstance(value, ast.Call) and isinstance(value.func, ast.Name):
        for argument in value.args:
            yield from _items(argument)


def _literal(node: ast.expr) -> Any:
    """The value of a literal; arithmetic on numbers counts as one. Raises ValueError."""
    value = _evaluated(node)
    if isinstance(value, int) and value.bit_length() > MAX_BITS:
        return f"a whole number of {value.bit_length()} bits"  # nothing asks for one
    if isinstance(value, str):  # half a surrogate pair cannot be written anywhere
        return value.encode("utf-8", "backslashreplace").decode()
    return value


def _evaluated(node: ast.expr) -> Any:
    match node:
        case ast.Constant(value=str() | int() | float() | bool() | None as value):
            return value
        case ast.UnaryOp(op=ast.USub(), operand=operand):
            return -_number(operand)
        case ast.UnaryOp(op=ast.UAdd(), operand=operand):
            return _number(operand)
        case ast.BinOp(left=left, op=ast.Pow(), right=right):
            power, base = _number(right), _number(left)
            if abs(power) > MAX_POWER or abs(base) > 1e6:
                raise ValueError("too large a power")
            return base**power
        case ast.BinOp(left=left, op=op, right=right) if type(op) in _BINARY:
            return _BINARY[type(op)](_number(left), _number(right))
        case ast.JoinedStr() | ast.Call():
            raise ValueError("no literal")
        case ast.Tuple(elts=items):
            return tuple(_literal(item) for item in items)
        case ast.List(elts=items) | ast.Set(elts=items):
            return [_literal(item) for item in items]
        case ast.Dict(keys=keys, values=values):
            return {
                _literal(key): _literal(value)
                for key, value in zip(keys, values, strict=True)
                if key is not None
            }
    raise ValueError("no literal")


def _number(node: ast.expr) -> Any:
    value = _literal(node)
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise ValueError("no number")
    return value
