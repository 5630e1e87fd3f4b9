"""Finds uses of library parts that an assignment does not allow, under whatever alias.

A use counts where a definition of the assignment can reach it: in the definition itself, or in
helpers, base classes and module-level values that it names. Another definition of the assignment is
not followed, since it answers for itself. So what stands in comments, strings, self-tests or test
cells costs nothing.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from fnmatch import fnmatchcase
from typing import Any

from grader.intake.definitions import bound_names, definitions, statements
from grader.intake.submission import Location, Source


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
    sources: Mapping[str, Source], names: Iterable[str], patterns: Iterable[str]
) -> list[Use]:
    """The disallowed names that each definition reaches, at most one a line.

    Args:
        sources: the submission's modules by path.
        names: the assignment's definitions.
        patterns: disallowed names such as "torch.nn.Transformer*". The last part is matched, under
            any module of the same package, since libraries re-export.
    """
    wanted = set(names)
    rules = [(pattern.split(".")[0], pattern.rsplit(".", 1)[1]) for pattern in patterns]
    modules = {source.stem: _Module(source, rules) for source in sources.values()}
    uses: dict[tuple[str, str, int], Use] = {}
    for module in modules.values():
        for name in wanted & module.units.keys():
            for place, dotted, line in _reachable(name, module, modules, wanted):
                location = place.source.locate(line)
                uses[name, location.file, line] = Use(name, dotted, location, line)
    return sorted(uses.values(), key=lambda use: (use.location.file, use.line, use.definition))


def _reachable(
    name: str, module: "_Module", modules: Mapping[str, "_Module"], wanted: set[str]
) -> Iterable[tuple["_Module", str, int]]:
    seen = {(module.source.path, name)}
    waiting = [(module, name)]
    while waiting:
        place, current = waiting.pop()
        for unit in place.units.get(current, []):
            for dotted, line in unit.disallowed:
                yield place, dotted, line
            for other in unit.names:
                target, target_name = place, other
                origin = place.student_imports.get(other)
                if origin is not None and origin[0] in modules:
                    target, target_name = modules[origin[0]], origin[1] or ""
                if target_name in wanted and target_name in target.units:
                    continue
                key = (target.source.path, target_name)
                if key not in seen:
                    seen.add(key)
                    waiting.append((target, target_name))


@dataclass
class _Unit:
    """One top-level statement, as part of what a name stands for."""

    names: set[str] = field(default_factory=set)
    disallowed: list[tuple[str, int]] = field(default_factory=list)


class _Module:
    """A module's top-level names, and what the statements behind each of them mention."""

    def __init__(self, source: Source, rules: list[tuple[str, str]]) -> None:
        self.source = source
        self._rules = rules
        self.student_imports: dict[str, tuple[str, str | None]] = {}
        self.units: dict[str, list[_Unit]] = {}
        tree = source.tree
        top = list(statements(tree.body))
        self._used = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name)}
        self._aliases = self._with_aliases({}, top)
        for name, statement in definitions(source).items():
            if isinstance(statement, (ast.FunctionDef, ast.ClassDef)):
                self._aliases.pop(name, None)
        for statement in top:
            self._note_student_import(statement)
            if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                continue  # their parts come by themselves
            for name in [*bound_names(statement), *_patched_names(statement)]:
                self.units.setdefault(name, []).append(self._unit(statement))

    def _note_student_import(self, statement: ast.stmt) -> None:
        if isinstance(statement, ast.ImportFrom):
            for alias in statement.names:
                stem = (statement.module or alias.name).rsplit(".", 1)[-1]
                self.student_imports[alias.asname or alias.name] = (stem, alias.name)

    def _unit(self, statement: ast.stmt) -> _Unit:
        unit = _Unit()
        nodes = list(ast.walk(statement))
        aliases = self._with_aliases(self._aliases, nodes)
        for node in nodes:
            if isinstance(node, ast.Name):
                unit.names.add(node.id)
            if isinstance(node, ast.Attribute) and isinstance(node.value, ast.Name):
                unit.names.add(node.attr)  # helpers.attend: the module's own name is no unit
            dotted = _resolve(node, aliases)
            if dotted is not None and _is_disallowed(dotted, self._rules):
                unit.disallowed.append((dotted, getattr(node, "lineno", statement.lineno)))
            if isinstance(node, ast.ImportFrom):
                unit.disallowed.extend(
                    (f"{node.module}.{alias.name}", node.lineno)
                    for alias in node.names
                    if node.module and _is_disallowed(f"{node.module}.{alias.name}", self._rules)
                )
        return unit

    def _with_aliases(self, known: Mapping[str, str], nodes: list[Any]) -> dict[str, str]:
        """`known`, and what imports and assignments among `nodes` make stand for library names."""
        packages = {package for package, _ in self._rules}
        aliases = dict(known)
        for node in nodes:
            if isinstance(node, ast.Import):
                for alias in node.names:
                    top = alias.name.split(".")[0]
                    if top in packages:
                        aliases[alias.asname or top] = alias.name if alias.asname else top
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                if node.module.split(".")[0] in packages:
                    for alias in node.names:
                        if alias.name == "*":
                            aliases.update(self._star(node.module, aliases))
                        else:
                            aliases[alias.asname or alias.name] = f"{node.module}.{alias.name}"
            elif isinstance(node, ast.Assign):
                dotted = _resolve(node.value, aliases)
                for target in node.targets:
                    if dotted and isinstance(target, ast.Name):
                        aliases[target.id] = dotted
        return aliases

    def _star(self, module: str, known: Mapping[str, str]) -> dict[str, str]:
        """What a star import of a library's module may have brought, of all that is used."""
        return {
            name: f"{module}.{name}"
            for name in self._used - known.keys()
            if _is_disallowed(f"{module}.{name}", self._rules) or name in ("functional", "modules")
        }


def _resolve(node: ast.AST, aliases: Mapping[str, str]) -> str | None:
    """The full dotted name that an expression stands for, through the module's aliases."""
    match node:
        case ast.Name(id=name):
            return aliases.get(name)
        case ast.Attribute(value=value, attr=attr):
            base = _resolve(value, aliases)
            return f"{base}.{attr}" if base else None
        case ast.Call(func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr)), *_]):
            base = _resolve(value, aliases)
            return f"{base}.{attr}" if base else None
        case ast.Subscript(
            value=ast.Attribute(value=value, attr="__dict__"), slice=ast.Constant(value=str(attr))
        ):
            base = _resolve(value, aliases)
            return f"{base}.{attr}" if base else None
        case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(name)), *_]):
            return name.split(".")[0]
        case ast.Call(
            func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
            args=[ast.Constant(value=str(name)), *_],
        ):
            return name
    return None


def _patched_names(statement: ast.stmt) -> list[str]:
    """The name that a statement changes from outside: `Layer.forward = …`, `setattr(Layer, …)`."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name))]):
            return [name]
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=name), *_])):
            return [name]
    return []


def _is_disallowed(dotted: str, rules: list[tuple[str, str]]) -> bool:
    package, _, rest = dotted.partition(".")
    last = rest.rsplit(".", 1)[-1]
    return any(package == root and fnmatchcase(last, pattern) for root, pattern in rules)
