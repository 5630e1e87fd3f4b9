"""What the modules of a submission define, read off their syntax trees."""

import ast
import difflib
from collections.abc import Iterable, Iterator

from grader.intake.submission import Source


def statements(body: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements that run when a module is imported, also inside `if`, `try`, `with`, `for`.

    What stands under `if __name__ == "__main__"` does not run, so it is left out.
    """
    for statement in body:
        yield statement
        if isinstance(statement, ast.If) and _is_main_guard(statement.test):
            yield from statements(statement.orelse)
            continue
        if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
            for part in ("body", "orelse", "finalbody"):
                yield from statements(getattr(statement, part, []))
            for handler in getattr(statement, "handlers", []):
                yield from statements(handler.body)


def _is_main_guard(test: ast.expr) -> bool:
    return (
        isinstance(test, ast.Compare)
        and len(test.ops) == 1
        and isinstance(test.ops[0], ast.Eq)
        and {"__name__"} == {n.id for n in ast.walk(test) if isinstance(n, ast.Name)}
    )


def definitions(source: Source) -> dict[str, ast.stmt]:
    """The names that a module binds at top level, each with the statement that binds it last."""
    found: dict[str, ast.stmt] = {}
    for statement in statements(source.tree.body):
        for name in bound_names(statement):
            found[name] = statement
    return found


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
