"""What a submission's functions and methods take, read off their syntax trees."""

import ast
from collections.abc import Sequence
from dataclasses import dataclass

from grader.intake.definitions import definitions
from grader.intake.submission import Source

MAX_BASES = 10  # of a class, followed upwards; also what ends a circle


@dataclass(frozen=True)
class Signature:
    """How a function is called, or a class by one of its methods.

    Attributes:
        called: its name, for messages: `split_heads`, or `MultiHeadAttention.forward`.
        path: the module that it stands in.
        line: of its `def`.
        positional: parameters that may be passed by position, in order, without `self`.
        required: those of them that have no default.
    """

    called: str
    path: str
    line: int
    positional: tuple[str, ...] = ()
    required: tuple[str, ...] = ()


def signature_of(
    sources: Sequence[Source], name: str, methods: Sequence[str] = ("__init__",)
) -> Signature | None:
    """The signature of a function, or of the first of these methods that a class has.

    Methods of base classes count where the submission defines these. A class without any gets its
    own line and no parameters.

    Args:
        sources: the modules in which the name is looked up, in that order.
        name: a top-level name.
        methods: the names of methods, the likeliest first.

    Returns:
        None when the name is bound to anything else, such as an import.
    """
    found = _statement(sources, name)
    if found is None:
        return None
    source, statement = found
    match statement:
        case ast.FunctionDef():
            return _signature(name, source, statement.lineno, statement.args, skip=0)
        case ast.Assign(value=ast.Lambda(args=arguments)):
            return _signature(name, source, statement.lineno, arguments, skip=0)
        case ast.ClassDef():
            for method in methods:
                place = _method(sources, name, method)
                if place is not None:
                    source, function = place
                    skip = 0 if _is_static(function) else 1
                    called = f"{name}.{method}"
                    return _signature(called, source, function.lineno, function.args, skip)
            return Signature(name, source.path, statement.lineno)
    return None


def _statement(sources: Sequence[Source], name: str) -> tuple[Source, ast.stmt] | None:
    """The first statement that binds a name by more than an import."""
    for source in sources:
        statement = definitions(source).get(name)
        if statement is not None and not isinstance(statement, (ast.Import, ast.ImportFrom)):
            return source, statement
    return None


def _method(
    sources: Sequence[Source], name: str, method: str, hops: int = 0
) -> tuple[Source, ast.FunctionDef] | None:
    """A class's method, or the one that it inherits within the submission."""
    source, class_ = _statement(sources, name) or (None, None)
    if source is None or not isinstance(class_, ast.ClassDef) or hops > MAX_BASES:
        return None
    for statement in reversed(class_.body):
        if isinstance(statement, ast.FunctionDef) and statement.name == method:
            return source, statement
    for base in class_.bases:
        inherited = base.id if isinstance(base, ast.Name) else getattr(base, "attr", "")
        place = _method(sources, inherited, method, hops + 1)
        if place is not None:
            return place
    return None


def _is_static(function: ast.FunctionDef) -> bool:
    return any(isinstance(d, ast.Name) and d.id == "staticmethod" for d in function.decorator_list)


def _signature(
    called: str, source: Source, line: int, arguments: ast.arguments, skip: int
) -> Signature:
    names = [argument.arg for argument in (*arguments.posonlyargs, *arguments.args)]
    required = names[: len(names) - len(arguments.defaults)]
    return Signature(called, source.path, line, tuple(names[skip:]), tuple(required[skip:]))
