"""What names stand for: across aliases, scopes and the modules of a submission.

A name stands for a library's name ("torch.nn.Linear"), for a definition in one of the student's
modules, or for such a module itself. Names of a function's own (parameters, assignments) hide those
of its module, and annotations are not looked at, since they run nothing.
"""

import ast
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath

from grader.intake.definitions import bound_names, statements
from grader.intake.submission import Source

MAX_HOPS = 20  # of an alias of an alias; also what ends circular imports
SCOPES = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)


@dataclass(frozen=True)
class Library:
    """A library's module or member, by its full dotted name."""

    name: str


@dataclass(frozen=True)
class Definition:
    """A top-level name of a student's module."""

    path: str
    name: str


@dataclass(frozen=True)
class Module:
    """A student's module."""

    path: str


Meaning = Library | Definition | Module | None


@dataclass
class Names:
    """The top-level bindings of one module.

    Attributes:
        units: for each name, the statements that bind or patch it.
        imports: names bound by imports, with what they stand for.
        stars: modules whose names are all imported: a student's, or a library's.
    """

    source: Source
    units: dict[str, list[ast.stmt]] = field(default_factory=dict)
    imports: dict[str, Meaning] = field(default_factory=dict)
    stars: list[Module | Library] = field(default_factory=list)


class Resolver:
    """Says what expressions stand for.

    Args:
        sources: the submission's modules by path.
        packages: libraries of interest, such as "torch".
    """

    def __init__(self, sources: Mapping[str, Source], packages: set[str]) -> None:
        self._packages = packages
        self._paths = list(sources)
        self.modules = {path: Names(source) for path, source in sources.items()}
        for path, names in self.modules.items():
            self._read(path, names)

    def _read(self, path: str, names: Names) -> None:
        for statement in statements(names.source.tree.body):
            if isinstance(statement, (ast.If, ast.Try, ast.With, ast.For, ast.While)):
                continue  # their parts come by themselves
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                for name, meaning in self.imported(path, statement):
                    if name == "*":
                        if isinstance(meaning, (Module, Library)):
                            names.stars.append(meaning)
                    else:
                        names.imports[name] = meaning
                        names.units.pop(name, None)
                continue
            for name in bound_names(statement):
                names.imports.pop(name, None)
                names.units.setdefault(name, []).append(statement)
            for name in _patched_names(statement):
                names.units.setdefault(name, []).append(statement)

    def imported(
        self, path: str, statement: ast.Import | ast.ImportFrom
    ) -> Iterator[tuple[str, Meaning]]:
        """The names that an import binds ("*" for all), and what each stands for."""
        if isinstance(statement, ast.Import):
            for alias in statement.names:
                top = alias.name.split(".")[0]
                if top in self._packages:
                    yield alias.asname or top, Library(alias.name if alias.asname else top)
                else:
                    wanted = alias.name if alias.asname else top
                    yield alias.asname or top, self._module(path, wanted, 0)
            return
        dotted, level = statement.module or "", statement.level
        is_library = not level and dotted.split(".")[0] in self._packages
        base = None if is_library else self._module(path, dotted, level)
        for alias in statement.names:
            bound = alias.asname or alias.name
            if is_library:
                whole = dotted if alias.name == "*" else f"{dotted}.{alias.name}"
                yield bound, Library(whole)
            elif alias.name == "*":
                yield bound, base
            else:
                inner = self._module(path, f"{dotted}.{alias.name}".strip("."), level)
                held = isinstance(base, Module) and alias.name in self._bound(base.path)
                if isinstance(base, Module) and (held or inner is None):
                    yield bound, Definition(base.path, alias.name)
                else:
                    yield bound, inner

    def _bound(self, path: str) -> set[str]:
        body = self.modules[path].source.tree.body
        return {name for statement in statements(body) for name in bound_names(statement)}

    def _module(self, importer: str, dotted: str, level: int) -> Module | None:
        """The student's module that an import means: seen from the importer's folder upwards."""
        folders = list(PurePosixPath(importer).parents)
        if level:
            folders = folders[level - 1 : level]
        relative = dotted.replace(".", "/")
        for folder in folders:
            base = str(folder / relative) if relative else str(folder)
            for candidate in (f"{base}.py", f"{base}/__init__.py", f"{base}.ipynb"):
                if candidate.removeprefix("./") in self.modules:
                    return Module(candidate.removeprefix("./"))
        if level or not relative:
            return None
        tail = "/" + relative.split("/", 1)[-1]  # the root folder's own name may come first
        for path in self._paths:
            stem = "/" + path.rsplit(".", 1)[0].removesuffix("/__init__")
            if stem.endswith(("/" + relative, tail)):
                return Module(path)
        return None

    def name(self, path: str, name: str, hops: int = 0) -> Meaning:
        """What a top-level name of a module stands for, followed through imports and aliases."""
        names = self.modules[path]
        if hops > MAX_HOPS:
            return None
        if name in names.imports:
            meaning = names.imports[name]
            if isinstance(meaning, Definition):
                return self.name(meaning.path, meaning.name, hops + 1) or meaning
            return meaning
        if name in names.units:
            last = names.units[name][-1]
            if isinstance(last, ast.Assign):
                found = self.expression(path, last.value, {}, hops + 1)
                if isinstance(found, (Library, Module)):
                    return found
            return Definition(path, name)
        for star in reversed(names.stars):
            if isinstance(star, Library):
                return Library(f"{star.name}.{name}")
            if star.path != path:
                found = self.name(star.path, name, hops + 1)
                if found is not None:
                    return found
        return None

    def expression(
        self, path: str, node: ast.AST, local: Mapping[str, Meaning], hops: int = 0
    ) -> Meaning:
        """What an expression stands for.

        Args:
            path: the module that it stands in.
            node: the expression.
            local: what names of the surrounding function stand for; attributes of `self` as
                "self.name".
            hops: how many aliases were followed on the way.
        """
        match node:
            case ast.Name(id=name):
                return local[name] if name in local else self.name(path, name, hops)
            case ast.Attribute(value=ast.Name(id="self" | "cls"), attr=attr):
                return local.get(f"self.{attr}")
            case (
                ast.Attribute(value=value, attr=attr)
                | ast.Call(
                    func=ast.Name(id="getattr"), args=[value, ast.Constant(value=str(attr)), *_]
                )
                | ast.Subscript(
                    value=ast.Attribute(value=value, attr="__dict__")
                    | ast.Call(func=ast.Name(id="vars"), args=[value]),
                    slice=ast.Constant(value=str(attr)),
                )
            ):
                return self._member(self.expression(path, value, local, hops), attr, hops)
            case ast.Call(func=ast.Name(id="__import__"), args=[ast.Constant(value=str(name)), *_]):
                return self._by_text(path, name.split(".")[0])
            case ast.Call(
                func=ast.Attribute(attr="import_module") | ast.Name(id="import_module"),
                args=[ast.Constant(value=str(name)), *_],
            ):
                return self._by_text(path, name)
        return None

    def _by_text(self, path: str, name: str) -> Meaning:
        if name.split(".")[0] in self._packages:
            return Library(name)
        return self._module(path, name.lstrip("."), 0)

    def _member(self, base: Meaning, attr: str, hops: int) -> Meaning:
        if isinstance(base, Library):
            return Library(f"{base.name}.{attr}")
        if isinstance(base, Module):
            return self.name(base.path, attr, hops + 1) or self._module(base.path, attr, 1)
        return None


def _patched_names(statement: ast.stmt) -> list[str]:
    """The name that a statement changes from outside: `Layer.forward = …`, `setattr(Layer, …)`."""
    match statement:
        case ast.Assign(targets=[ast.Attribute(value=ast.Name(id=name))]):
            return [name]
        case ast.Expr(value=ast.Call(func=ast.Name(id="setattr"), args=[ast.Name(id=name), *_])):
            return [name]
    return []


def local_names(scope: ast.AST) -> set[str]:
    """The names that a function binds itself, and that hide its module's."""
    arguments = getattr(scope, "args", None)
    found: set[str] = set()
    outside: set[str] = set()
    if isinstance(arguments, ast.arguments):
        every = [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs]
        found |= {argument.arg for argument in every}
        found |= {a.arg for a in (arguments.vararg, arguments.kwarg) if a is not None}
    for node in inner_nodes(scope):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            found.add(node.id)
        elif isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found.add(node.name)
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            outside |= set(node.names)
    return found - outside


def inner_nodes(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a function's body, without those of functions inside it."""
    body = getattr(scope, "body", [])
    waiting: list[ast.AST] = list(body) if isinstance(body, list) else [body]
    while waiting:
        node = waiting.pop()
        yield node
        if not isinstance(node, SCOPES):
            waiting.extend(ast.iter_child_nodes(node))
