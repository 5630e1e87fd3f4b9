"""Finds uses of library parts that an assignment does not allow, under whatever alias.

A use counts where a definition of the assignment can reach it: in the definition itself, or in
helpers, base classes and module-level values that it names. Another definition of the assignment is
not followed, since it answers for itself. So what stands in comments, strings, annotations,
self-tests or test cells costs nothing.
"""

import ast
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fnmatch import fnmatchcase

from grader.intake.submission import Location, Source
from grader.policy.names import (
    SCOPES,
    Definition,
    Library,
    Meaning,
    Module,
    Resolver,
    inner_nodes,
    local_names,
)


@dataclass(frozen=True)
class Use:
    """A disallowed name that a definition reaches.

    Attributes:
        definition: the assignment's definition.
        name: the library's name, in full.
        location: where it stands in the student's file.
        line: the same line in the whole source.
    """

    definition: str
    name: str
    location: Location
    line: int


def disallowed_uses(
    sources: Mapping[str, Source],
    names: Iterable[str],
    patterns: Iterable[str],
    graded: Sequence[str] | None = None,
) -> list[Use]:
    """The disallowed names that each definition reaches, at most one a line.

    Args:
        sources: the submission's modules by path.
        names: the assignment's definitions.
        patterns: disallowed names such as "torch.nn.Transformer*". The last part is matched, under
            any module of the same package, since libraries re-export.
        graded: paths of the modules that are graded, in the order in which a name is looked up in
            them; every module by default. A draft that lies beside them costs nothing.
    """
    wanted = set(names)
    rules = [(pattern.split(".")[0], pattern.rsplit(".", 1)[1]) for pattern in patterns]
    search = _Search(sources, rules, wanted)
    uses: dict[tuple[str, str, int], Use] = {}
    left = set(wanted)
    for path in sources if graded is None else graded:
        module = search.resolver.modules[path]
        here = left & (module.units.keys() | module.imports.keys())
        left -= here
        for name in here:
            for place, dotted, line in search.reachable(path, name):
                location = sources[place].locate(line)
                uses.setdefault((name, location.file, line), Use(name, dotted, location, line))
    return sorted(uses.values(), key=lambda use: (use.location.file, use.line, use.definition))


class _Search:
    """Follows names from a definition through a submission's modules."""

    def __init__(
        self, sources: Mapping[str, Source], rules: list[tuple[str, str]], wanted: set[str]
    ) -> None:
        self._rules = rules
        self._wanted = wanted
        self.resolver = Resolver(sources, {package for package, _ in rules})

    def reachable(self, path: str, name: str) -> Iterator[tuple[str, str, int]]:
        """The disallowed names that a definition reaches: module, name and line."""
        meaning = self.resolver.name(path, name)
        if isinstance(meaning, Library) and self._is_disallowed(meaning.name):
            yield path, meaning.name, self._line(path, name)
            return
        start = meaning if isinstance(meaning, Definition) else Definition(path, name)
        seen = {start}
        waiting = [start]
        while waiting:
            current = waiting.pop()
            for statement in self.resolver.modules[current.path].units.get(current.name, []):
                for found, line in _References(self.resolver, current.path).of(statement):
                    if isinstance(found, Library) and self._is_disallowed(found.name):
                        yield current.path, found.name, line
                    if not isinstance(found, Definition) or found in seen:
                        continue
                    # A subclass of a helper of its own name follows it; other definitions of the
                    # assignment answer for themselves.
                    if found.name in self._wanted and found.name != name:
                        continue
                    seen.add(found)
                    waiting.append(found)

    def _line(self, path: str, name: str) -> int:
        """Where a module binds a name."""
        module = self.resolver.modules[path]
        if name in module.units:
            return module.units[name][-1].lineno
        for node in ast.walk(module.source.tree):
            if isinstance(node, (ast.Import, ast.ImportFrom)) and any(
                (alias.asname or alias.name) == name for alias in node.names
            ):
                return node.lineno
        return 1

    def _is_disallowed(self, dotted: str) -> bool:
        package, _, rest = dotted.partition(".")
        last = rest.rsplit(".", 1)[-1]
        return any(package == root and fnmatchcase(last, pattern) for root, pattern in self._rules)


class _References:
    """What the expressions of one statement stand for, with each function's own names in mind."""

    def __init__(self, resolver: Resolver, path: str) -> None:
        self._resolver = resolver
        self._path = path

    def of(self, statement: ast.stmt) -> Iterator[tuple[Meaning, int]]:
        """Each thing that the statement refers to, with its line."""
        if isinstance(statement, ast.ClassDef):
            own = self._attributes(statement)
            for part in [*statement.bases, *statement.decorator_list, *statement.keywords]:
                yield from self._walk(part, own)
            for part in _running_parts(statement):
                yield from self._walk(part, own)
        else:
            yield from self._walk(statement, {})

    def _attributes(self, class_: ast.ClassDef) -> dict[str, Meaning]:
        """What attributes stand for that methods set on self: `self.F = F`."""
        found: dict[str, Meaning] = {}
        for node in ast.walk(class_):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    match target:
                        case ast.Attribute(value=ast.Name(id="self"), attr=attr):
                            key = f"self.{attr}"
                        case ast.Name(id=name) if node in class_.body:
                            key = f"self.{name}"
                        case _:
                            continue
                    meaning = self._resolver.expression(self._path, node.value, {})
                    if meaning is not None:
                        found[key] = meaning
        return found

    def _walk(self, node: ast.AST, local: dict[str, Meaning]) -> Iterator[tuple[Meaning, int]]:
        meaning = self._resolver.expression(self._path, node, local)
        if meaning is not None and not isinstance(meaning, Module):
            yield meaning, getattr(node, "lineno", 1)
        if isinstance(node, SCOPES):
            inner = {**local, **dict.fromkeys(local_names(node))}
            for part in inner_nodes(node):
                inner.update(self._bindings(part, inner))
            outside = [*node.args.defaults, *filter(None, node.args.kw_defaults)]
            outside += getattr(node, "decorator_list", [])
            for part in outside:
                yield from self._walk(part, local)
            for part in node.body if isinstance(node.body, list) else [node.body]:
                yield from self._walk(part, inner)
            return
        if isinstance(node, ast.AnnAssign):
            parts: Iterable[ast.AST] = [node.value] if node.value else []
        else:
            parts = ast.iter_child_nodes(node)
        for part in parts:
            yield from self._walk(part, local)

    def _bindings(self, node: ast.AST, local: dict[str, Meaning]) -> dict[str, Meaning]:
        """What a statement inside a function makes names of its own stand for."""
        if isinstance(node, (ast.Import, ast.ImportFrom)):
            return {
                name: self._resolver.name(meaning.path, meaning.name) or meaning
                if isinstance(meaning, Definition)
                else meaning
                for name, meaning in self._resolver.imported(self._path, node)
            }
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            meaning = self._resolver.expression(self._path, node.value, local)
            if meaning is not None:
                return {node.targets[0].id: meaning}
        return {}


def _running_parts(class_: ast.ClassDef) -> list[ast.stmt]:
    """The parts of a class that using it runs.

    Its class-level statements and special methods, `forward`, and whatever methods these name; a
    static self-test that nothing calls is none of them.
    """
    methods = {
        s.name: s for s in class_.body if isinstance(s, (ast.FunctionDef, ast.AsyncFunctionDef))
    }
    parts: list[ast.stmt] = [s for s in class_.body if s not in methods.values()]
    waiting = [n for n in methods if n == "forward" or (n.startswith("__") and n.endswith("__"))]
    seen = set(waiting)
    while waiting:
        method = methods[waiting.pop()]
        parts.append(method)
        for node in ast.walk(method):
            named = node.attr if isinstance(node, ast.Attribute) else None
            if named in methods and named not in seen:
                seen.add(named)
                waiting.append(named)
    return parts
