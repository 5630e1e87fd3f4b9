"""Which statements of a module are run: imports, definitions, constants, and whatever these need.

Exploratory code (training loops, plots, downloads, `input()`, prints) stays out. What a statement
binds, and which names it needs, the compiler says: each top-level statement is compiled by itself,
and the names are read off its code objects. Runs nothing.
"""

import __future__

import ast
import builtins
import dis
import types
import warnings
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from functools import cached_property

from grader.intake.definitions import (
    DEFINITIONS,
    Kinds,
    is_main_guard,
    is_only_a_result,
    root_name,
    statements,
)
from grader.intake.submission import Source

IMPORTS = (ast.Import, ast.ImportFrom)
LOADS = {"LOAD_NAME", "LOAD_GLOBAL", "LOAD_CLASSDEREF", "LOAD_FROM_DICT_OR_GLOBALS"}
STORES = {"STORE_NAME", "STORE_GLOBAL"}
CHANGING = {"append", "extend", "add", "update", "setdefault", "insert", "register", "__setitem__"}
BY_NAME = {"globals", "eval", "exec"}  # what finds names that nobody can foresee
MAKING = {"exec", "globals", "vars", "locals", "eval", "get_ipython"}
READING = {"open", "read_text", "read_bytes", "load", "loadtxt", "genfromtxt", "read_csv"}
WRITING = {"open", "write_text", "write_bytes", "dump", "save", "savez", "savetxt", "to_csv"}
GIVEN = {*dir(builtins), "__name__", "__file__", "__doc__", "display", "get_ipython"}


@dataclass
class Statement:
    """A top-level statement, and what it has to do with names.

    Attributes:
        node: the statement.
        binds: names that running it binds in its module.
        needs_now: names of the module that running it looks up.
        needs_later: names of the module that the functions in it look up when they are called.
        changes: names whose objects it changes in place: attributes, items, entries.
        sets: names of the module that its function binds or changes when it is called.
        calls: names of functions of the module that it calls.
        by_name: whether it can look names up that are nowhere written as such.
        mentions: names and attributes that it looks up, now or when its functions are called.
    """

    node: ast.stmt
    binds: set[str] = field(default_factory=set)
    needs_now: set[str] = field(default_factory=set)
    needs_later: set[str] = field(default_factory=set)
    changes: set[str] = field(default_factory=set)
    sets: set[str] = field(default_factory=set)
    calls: set[str] = field(default_factory=set)
    by_name: bool = False
    mentions: set[str] = field(default_factory=set)

    @property
    def is_import(self) -> bool:
        """Whether it imports, be it within `try` or `if`."""
        return bool(_imported(self.node))

    @property
    def is_definition(self) -> bool:
        """Whether it is a function or a class."""
        return isinstance(self.node, DEFINITIONS)

    @cached_property
    def is_constant(self) -> bool:
        """Whether it binds names to what needs no work: no call, no comprehension, no loop."""
        if not isinstance(self.node, (ast.Assign, ast.AnnAssign)):
            return False
        works = (ast.Call, ast.Await, ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
        return not any(isinstance(node, works) for node in ast.walk(self.node))

    @property
    def does_something(self) -> bool:
        """Whether leaving it out is worth a word to its author."""
        node = self.node
        if isinstance(node, ast.If) and is_main_guard(node.test):
            return False
        if isinstance(node, ast.Expr):
            return not isinstance(node.value, (ast.Constant, ast.Name))
        return not isinstance(node, (ast.Pass, ast.Delete))


@dataclass(frozen=True)
class Selection:
    """What of a source is run.

    Attributes:
        kept: for each chunk the indexes of the statements that are run.
        left_out: the statements that are not, and that do something.
        by_name: whether what is needed can look up what it nowhere names: names of the module as
            texts, or files that what is left out may write.
        makes_names: whether what is left out can define names that are nowhere written as such.
    """

    kept: tuple[tuple[int, ...], ...]
    left_out: tuple[ast.stmt, ...]
    by_name: bool
    makes_names: bool


def select(source: Source, wanted: Collection[str] | None, only_now: bool = False) -> Selection:
    """What of a source is run to have some of its names.

    Args:
        source: a module or a notebook.
        wanted: the names; None for all that it defines.
        only_now: leave out what functions need only when they are called.
    """
    by_chunk = _statements(source)
    every = [statement for chunk in by_chunk for statement in chunk]
    needed = _kept(every, wanted, only_now)
    chosen = needed | _that_cost_nothing(every, needed)
    rest = [s for s in every if id(s) not in chosen]
    reads = any(s.mentions & READING for s in every if id(s) in needed)
    by_file = reads and any(s.mentions & WRITING for s in rest)
    return Selection(
        kept=tuple(
            tuple(index for index, s in enumerate(chunk) if id(s) in chosen) for chunk in by_chunk
        ),
        left_out=tuple(s.node for s in rest if s.does_something),
        by_name=by_file or any(s.by_name for s in every if id(s) in needed),
        makes_names=any(_makes_names(s.node) for s in rest),
    )


def _kept(every: list[Statement], wanted: Collection[str] | None, only_now: bool) -> set[int]:
    """The ids of the statements that are run to have the wanted names."""
    kinds = Kinds.of(inner for s in every for inner in statements([s.node]))
    imported = {name for s in every if s.is_import for name in s.binds}
    roots = set(kinds.defined if wanted is None else wanted)
    needed = set(roots)
    kept: set[int] = set()
    sets = {name: s.sets for s in every if s.is_definition for name in s.binds - roots}

    def is_needed(statement: Statement) -> bool:
        if statement.is_import or _raises(statement.node):
            return True
        binds = statement.binds & needed
        if binds and not is_only_a_result(statement.node, binds & roots, kinds):
            return True
        sets_library = statement.changes & imported and not statement.needs_now - imported
        changes = statement.changes.union(*(sets.get(name, ()) for name in statement.calls))
        return bool(changes & needed - imported or sets_library)

    grown = True
    while grown:
        grown = False
        for statement in every:
            if id(statement) not in kept and is_needed(statement):
                kept.add(id(statement))
                needed.update(statement.needs_now)
                if not only_now:
                    needed.update(statement.needs_later)
                grown = True
    return kept


def _that_cost_nothing(every: list[Statement], kept: set[int]) -> set[int]:
    """The ids of other definitions and constants, where all that they need to be made is there."""
    there = {name for s in every if id(s) in kept for name in s.binds}
    absent = {name for s in every for name in s.binds} - there
    defined = {name for s in every if id(s) in kept and s.is_definition for name in s.binds}
    added: set[int] = set()
    grown = True
    while grown:
        grown = False
        for statement in every:
            if id(statement) in kept | added or statement.needs_now & absent - statement.binds:
                continue
            if statement.is_definition or (
                statement.is_constant and not statement.binds & defined  # which it would hide
            ):
                added.add(id(statement))
                absent -= statement.binds
                grown = True
    return added


def _makes_names(node: ast.stmt) -> bool:
    """Whether a statement can define names of its module that it does not write as such."""
    return any(
        (isinstance(n, ast.Name) and n.id in MAKING)
        or (isinstance(n, ast.Attribute) and n.attr in ("__dict__", "modules"))
        for n in _running_now(node)
    )


def _raises(node: ast.stmt) -> bool:
    """Whether all that a statement can do is to refuse the module: a guard."""
    return isinstance(node, ast.If) and all(isinstance(inner, ast.Raise) for inner in node.body)


def _imported(node: ast.stmt) -> bool:
    """Whether a statement does nothing but import, with a way out where that fails."""
    if isinstance(node, IMPORTS):
        return True
    if isinstance(node, ast.Try):
        return all(_imported(inner) for inner in node.body)
    if isinstance(node, ast.If):
        return all(_imported(inner) for inner in (*node.body, *node.orelse))
    return False


def _statements(source: Source) -> list[list[Statement]]:
    """The top-level statements of each chunk."""
    flags = _future_flags(source)
    patching = {
        statement.name
        for statement in source.tree.body
        if isinstance(statement, ast.FunctionDef) and _changes_a_parameter(statement)
    }
    found = [[_statement(node, flags, patching) for node in tree.body] for tree in source.trees]
    every = [statement for chunk in found for statement in chunk]
    given = GIVEN.difference(*(statement.binds for statement in every))
    for statement in every:
        statement.needs_now -= given
        statement.needs_later -= given
    return found


def _future_flags(source: Source) -> int:
    flags = 0
    for node in source.tree.body:
        if isinstance(node, ast.ImportFrom) and node.module == "__future__":
            for alias in node.names:
                feature = getattr(__future__, alias.name, None)
                flags |= getattr(feature, "compiler_flag", 0)
    return flags


def _statement(node: ast.stmt, flags: int, patching: set[str]) -> Statement:
    """What compiling a statement shows of it; a statement that does not compile needs nothing."""
    statement = Statement(node)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            module = ast.Module([node], type_ignores=[])
            flags |= ast.PyCF_ALLOW_TOP_LEVEL_AWAIT
            code = compile(module, "<submission>", "exec", flags, True)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return statement
    _read_code(code, statement, runs_now=True)
    statement.changes = set(_changed(node, patching))
    if isinstance(node, ast.FunctionDef):
        changed = {name for inner in node.body for name in _changed(inner, patching)}
        statement.sets |= changed & statement.needs_later
    else:
        calls = [n.func for n in _running_now(node) if isinstance(n, ast.Call)]
        statement.calls = {f.id for f in calls if isinstance(f, ast.Name)}
    return statement


def _read_code(code: types.CodeType, statement: Statement, runs_now: bool) -> None:
    """Add the names that a code object, and those within it, look up and bind."""
    own: set[str] = set()
    is_class = not code.co_flags & 0x1 and code.co_name != "<module>"
    for instruction in dis.get_instructions(code):
        name = instruction.argval
        if not isinstance(name, str):
            continue
        if instruction.opname.startswith("LOAD_"):
            statement.mentions.add(name)
        if instruction.opname in LOADS:
            if name in BY_NAME:
                statement.by_name = True
            if name not in own:
                (statement.needs_now if runs_now else statement.needs_later).add(name)
        elif instruction.opname in STORES:
            if is_class and instruction.opname == "STORE_NAME":
                own.add(name)
            elif runs_now:
                statement.binds.add(name)
            elif instruction.opname == "STORE_GLOBAL":
                statement.sets.add(name)
    for constant in code.co_consts:
        if isinstance(constant, types.CodeType):
            is_function = bool(constant.co_flags & 0x1) and not constant.co_name.startswith("<")
            is_lambda = constant.co_name == "<lambda>"
            _read_code(constant, statement, runs_now and not is_function and not is_lambda)


def _changed(node: ast.stmt, patching: set[str]) -> Iterator[str]:
    """The names whose objects a statement changes in place."""
    for inner in _running_now(node):
        for name in _changed_by(inner, patching):
            yield name
            for loop in ast.walk(node):  # `for cls in (A, B): cls.forward = f` changes A and B
                if isinstance(loop, ast.For) and name in _names(loop.target):
                    yield from _names(loop.iter)


def _running_now(node: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a statement that run when it does: not those within functions and classes."""
    waiting = [node]
    while waiting:
        current = waiting.pop()
        yield current
        if not isinstance(current, (*DEFINITIONS, ast.Lambda)):
            waiting.extend(ast.iter_child_nodes(current))


def _changed_by(node: ast.AST, patching: set[str]) -> Iterator[str]:
    targets: Sequence[ast.expr] = ()
    match node:
        case ast.Assign(targets=given):
            targets = given
        case ast.AugAssign(target=one) | ast.AnnAssign(target=one):
            targets = [one]
        case ast.Call(func=ast.Name(id="setattr" | "delattr"), args=[first, *_]):
            yield from filter(None, [root_name(first)])
        case ast.Call(func=ast.Name(id="exec"), args=[_, *spaces]):
            yield from filter(None, map(root_name, spaces))
        case ast.Call(func=ast.Name(id=name), args=arguments) if name in patching:
            yield from filter(None, map(root_name, arguments))
        case ast.Call(func=ast.Attribute(value=value, attr=attr)) if attr in CHANGING:
            yield from filter(None, [root_name(value)])
    for target in targets:
        parts = target.elts if isinstance(target, (ast.Tuple, ast.List)) else [target]
        for part in parts:
            if isinstance(part, (ast.Attribute, ast.Subscript)):
                yield from filter(None, [root_name(part)])


def _changes_a_parameter(function: ast.FunctionDef) -> bool:
    """Whether a function sets attributes of what it is given, as one that patches a class does."""
    arguments = {argument.arg for argument in function.args.args}
    changed = {n for inner in function.body for n in _changed(inner, set())}
    return bool(arguments & changed)


def _names(node: ast.AST) -> set[str]:
    return {inner.id for inner in ast.walk(node) if isinstance(inner, ast.Name)}
