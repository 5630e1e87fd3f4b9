"""What the modules of a submission define, read off their syntax trees."""

import ast
import difflib
from collections.abc import Collection, Iterable, Iterator, Mapping
from functools import lru_cache
from typing import NamedTuple, Self

from grader.intake.submission import Source

DEFINITIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)
WRAPPERS = {"functools", "torch", "partial", "staticmethod"}  # what makes functions of functions


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, also inside `if`, `try`, `with`, `for`.

    What stands under `if __name__ == "__main__"` does not run, so it is left out.
    """
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and is_main_guard(statement.test):
            yield from statements(statement.orelse)
            continue
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from statements(handler.body)


def is_main_guard(test: ast.expr) -> bool:
    """Whether a condition is `__name__ == "__main__"`, which does not hold while grading."""
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
        and {"__name__"} == {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    )


def under_main_guard(source: Source) -> set[str]:
    """The names of functions and classes that stand where only running a module makes them."""
    return {
        inner.name
        for statement in source.tree.body
        if isinstance(statement, ast.If) and is_main_guard(statement.test)
        for inner in statement.body
        if isinstance(inner, DEFINITIONS)
    }


@lru_cache(maxsize=128)
def definitions(source: Source) -> Mapping[str, ast.stmt]:
    """The names that a module binds at top level, each with the statement that binds it last.

    A function or class stays what its name stands for when a result is put there later.
    """
    found: dict[str, ast.stmt] = {}
    every = list(statements(source.tree.body))
    kinds = Kinds.of(every)
    for statement in every:
        for name in bound_names(statement):
            if name not in found or not is_only_a_result(statement, {name}, kinds):
                found[name] = statement
    return found


class Kinds(NamedTuple):
    """The names of a module by what they stand for.

    Attributes:
        defined: its functions and classes.
        callables: these, and imports and lambdas.
        makers: its classes, and functions that define something themselves.
    """

    defined: set[str]
    callables: set[str]
    makers: set[str]

    @classmethod
    def of(cls, every: Iterable[ast.stmt]) -> Self:
        """The kinds of the names that statements bind."""
        defined, others, makers = set(), set(), set()
        for statement in every:
            if isinstance(statement, DEFINITIONS):
                defined.add(statement.name)
                inner = [
                    n for n in ast.walk(statement) if isinstance(n, (*DEFINITIONS, ast.Lambda))
                ]
                if isinstance(statement, ast.ClassDef) or len(inner) > 1:
                    makers.add(statement.name)
            elif isinstance(getattr(statement, "value", None), ast.Lambda) or isinstance(
                statement, (ast.Import, ast.ImportFrom)
            ):
                others.update(bound_names(statement))
        return cls(defined, defined | others, makers)


def is_only_a_result(node: ast.stmt, names: Collection[str], kinds: Kinds) -> bool:
    """Whether a statement merely puts a result where a function or class of that name was.

    `padding_mask = padding_mask(ids, 0)` and `for train in …` do, in notebooks whose author had no
    further use for the definition; `train = compile(train)` and `EncoderBlock = MyBlock` define it
    anew.

    Args:
        node: a top-level statement.
        names: those of the names that it binds which matter.
        kinds: of the names of its module.
    """
    names = set(names) & kinds.defined
    if not names or isinstance(node, (*DEFINITIONS, ast.Import, ast.ImportFrom)):
        return False
    if isinstance(node, (ast.If, ast.Try, ast.With)):
        inner = [s for s in statements([node]) if s is not node]
        return all(is_only_a_result(s, names, kinds) for s in inner if names & {*bound_names(s)})
    if not isinstance(node, (ast.Assign, ast.AnnAssign)) or node.value is None:
        return True
    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
    if not all(isinstance(target, ast.Name) for target in targets):
        return True
    value = node.value
    if isinstance(value, (ast.Name, ast.Attribute)):
        return root_name(value) not in kinds.callables
    if not isinstance(value, ast.Call):
        return not isinstance(value, (ast.Lambda, ast.IfExp, ast.BoolOp))
    called = root_name(value.func)
    mentioned = {n.id for n in ast.walk(value) if isinstance(n, ast.Name)}
    is_wrapped = bool(names & mentioned) and called not in names
    return not (is_wrapped or called in WRAPPERS or called in kinds.makers - names)


def root_name(node: ast.AST) -> str | None:
    """The name that a chain of attributes, items and calls begins with."""
    while isinstance(node, (ast.Attribute, ast.Subscript, ast.Call)):
        node = node.func if isinstance(node, ast.Call) else node.value
    return node.id if isinstance(node, ast.Name) else None


def defined_names(sources: Iterable[Source]) -> set[str]:
    """The names that any of the modules binds at top level."""
    return {name for source in sources for name in definitions(source)}


def bound_names(statement: ast.stmt) -> list[str]:
    """The names that one statement binds in its module."""
    match statement:
        case ast.FunctionDef(name=name) | ast.AsyncFunctionDef(name=name) | ast.ClassDef(name=name):
            return [name]
        case ast.Assign(targets=targets):
            return [n.id for t in targets for n in ast.walk(t) if isinstance(n, ast.Name)]
        case ast.AnnAssign(target=ast.Name(id=name), value=value) if value is not None:
            return [name]
        case ast.Import(names=names):
            return [alias.asname or alias.name.split(".")[0] for alias in names]
        case ast.ImportFrom(names=names):
            return [alias.asname or alias.name for alias in names]
    return []


def is_implemented(statement: ast.stmt) -> bool:
    """Whether a definition does more than raise NotImplementedError or pass."""
    if isinstance(statement, ast.ClassDef):
        methods = [s for s in statement.body if isinstance(s, ast.FunctionDef)]
        return not methods or any(is_implemented(method) for method in methods)
    if not isinstance(statement, (ast.FunctionDef, ast.AsyncFunctionDef)):
        return True
    return not all(_does_nothing(inner) for inner in statement.body)


def _does_nothing(statement: ast.stmt) -> bool:
    match statement:
        case ast.Pass() | ast.Expr(value=ast.Constant()):
            return True
        case ast.Expr(value=ast.Call(func=ast.Attribute(attr="__init__"))):
            return True  # super().__init__()
        case ast.Raise(exc=ast.Name(id="NotImplementedError")):
            return True
        case ast.Raise(exc=ast.Call(func=ast.Name(id="NotImplementedError"))):
            return True
    return False


def is_misspelling(name: str, wanted: str) -> bool:
    """Whether a name differs from the wanted one, but in case or underscores only."""
    return name != wanted and _plain(name) == _plain(wanted)


def _plain(name: str) -> str:
    return name.lower().replace("_", "")


def nearest_name(name: str, names: Iterable[str]) -> str | None:
    """The name most like `name`, whatever its case and underscores; None if none is like it."""
    plain = {_plain(other): other for other in names if other != name}
    close = difflib.get_close_matches(_plain(name), plain, n=1, cutoff=0.72)
    return plain[close[0]] if close else None


def choose_modules(sources: Iterable[Source], names: Iterable[str], stem: str) -> list[Source]:
    """The modules that are graded: the one that holds most of the names, then what it lacks.

    A module named like the assignment goes first if it implements anything of it; then whichever
    implements most, plain modules before notebooks, those higher up before those deeper down.

    Args:
        sources: the submission's modules.
        names: the assignment's definitions.
        stem: the file name, without ending, that the assignment's template has.

    Returns:
        The modules in the order in which a name is looked up in them; empty when none has any.
    """
    wanted = set(names)
    held: list[tuple[tuple[object, ...], Source, set[str]]] = []
    for source in sources:
        found = {n: s for n, s in definitions(source).items() if n in wanted}
        implemented = sum(is_implemented(statement) for statement in found.values())
        is_test = source.stem.startswith("test_") or source.stem.endswith("_test")
        rank = (
            -(implemented > 0),
            is_test,
            source.stem != stem,
            -implemented,
            -len(found),
            source.is_notebook,
            source.path.count("/"),
            source.path,
        )
        if found:
            held.append((rank, source, set(found)))
    chosen: list[Source] = []
    for _, source, found_names in sorted(held, key=lambda item: item[0]):
        if not chosen or found_names & wanted:
            chosen.append(source)
            wanted -= found_names
    return chosen
