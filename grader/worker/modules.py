"""Imports the student's modules from memory, the way a run from their own folder would.

Only standard library: this runs in the worker. Sources are compiled from the very text that the
trusted side read, statement by statement, and only those statements that are to be run. A module is
one object however it is imported: as `layers`, as `src.layers`, or as `.layers` from a neighbour.
"""

import __future__

import ast
import builtins
import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
import types
import warnings
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

from grader.worker.standins import Finder, Inert, StandIns, guarded_lines

ROOT = "/submission/"  # what the file names of student code begin with; no such folder exists
NO_DEVICE = frozenset({"RuntimeError", "AssertionError", "Exception", "BaseException"})
PACKAGE = "__submission__"  # the package that the submission's root folder is, for relative imports
HIDDEN = {"grader", "reference", "assignments", "student_template"}


class Chunk:
    """A part of a source: a whole `.py` file, or one notebook cell.

    Args:
        first_line: its first line in the whole source.
        text: its text.
        kept: indexes of the statements that are run; None for all.
    """

    def __init__(self, first_line: int, text: str, kept: Sequence[int] | None = None) -> None:
        self.first_line = first_line
        self.text = text
        self.kept = kept

    def tree(self) -> ast.Module:
        """What is run of it, with line numbers of the whole source."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(self.text)
        if self.kept is not None:
            tree.body = [tree.body[index] for index in self.kept]
        ast.increment_lineno(tree, self.first_line - 1)
        return tree


class StudentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder and loader for the modules of one submission.

    Args:
        sources: for each path relative to the submission's root, its chunks in order.
        entry: path of the module that is graded; its folder and the folders above it, up to the
            root, are where absolute imports are looked up.
        tolerant: paths of modules in which a statement that raises lets the next ones run.
        root_name: the root folder's own name, under which its modules may import each other.
    """

    def __init__(
        self,
        sources: dict[str, list[Chunk]],
        entry: str,
        tolerant: set[str],
        root_name: str = "",
    ) -> None:
        self._sources = sources
        self._tolerant = tolerant
        self._folders = {str(parent) for path in sources for parent in PurePosixPath(path).parents}
        self._root_name = root_name
        self._roots = [str(parent) for parent in PurePosixPath(entry).parents]
        self._loaded: dict[str, types.ModuleType] = {}
        self._paths: dict[str, str] = {}
        self.errors: list[tuple[str, BaseException]] = []
        self._guarded: dict[str, set[int]] = {}
        self.device_guards: dict[str, set[int]] = {}
        self.stand_ins = StandIns(ROOT, PACKAGE, self._guarded)
        for path, chunks in sources.items():
            text = "".join(chunk.text for chunk in chunks)
            lines = [f"{line}\n" for line in text.split("\n")]
            linecache.cache[ROOT + path] = (len(text), None, lines, ROOT + path)

    def install(self) -> None:
        """Serve imports from now on, and what a notebook's shell provides.

        The submission's modules go before installed ones, as a script's folder does, but not before
        what is loaded already: so its `math.py` or `torch.py` replaces nothing. A module that lies
        in another folder of the submission goes after installed ones, and what is nowhere to be
        found is replaced by a stand-in.
        """
        sys.meta_path.insert(0, self)
        sys.meta_path.append(Finder(self.find_elsewhere))
        self.stand_ins.install()
        for name in ("display", "get_ipython"):
            setattr(builtins, name, Inert(name))

    def load(self, path: str) -> types.ModuleType:
        """Run the module at `path`; what it raises is kept in `errors`, and the module stays.

        Definitions made before the error are as good as any, so they are graded.
        """
        self._import_packages(path)
        name = self._dotted(path)
        module = sys.modules.get(name)
        if module is None:
            module = importlib.util.module_from_spec(self._spec(name, path))
            sys.modules[name] = module
            try:
                self.exec_module(module)
            except BaseException as error:
                self.errors.append((path, error))
        return module

    def _import_packages(self, path: str) -> None:
        """Import the packages above `path`, outermost first, as an import of it would."""
        parts = self._dotted(path).split(".")[:-1]
        for end in range(1, len(parts) + 1):
            try:
                importlib.import_module(".".join(parts[:end]))
            except BaseException as error:
                self.errors.append((path, error))

    def _dotted(self, path: str) -> str:
        pure = PurePosixPath(path)
        parts = pure.parent.parts if pure.name == "__init__.py" else pure.with_suffix("").parts
        # A file name such as `my.model.py` is no module name, but it can be the entry.
        return ".".join([PACKAGE, *(part.replace(".", "_") for part in parts)])

    # finder

    def find_spec(
        self,
        fullname: str,
        path: Sequence[str] | None = None,  # noqa: ARG002
        target: Any = None,  # noqa: ARG002
    ) -> importlib.machinery.ModuleSpec | None:
        """Where `fullname` lies among the submission's files; None if it is not among them.

        Raises:
            ModuleNotFoundError: it is one of the project's own packages, which stay hidden.
        """
        first, _, rest = fullname.partition(".")
        if first == PACKAGE:
            return self._find(fullname, rest, ["."])
        found = self._find(fullname, fullname, self._roots)
        if found is None and first in HIDDEN:
            raise ModuleNotFoundError(f"No module named {fullname!r}", name=fullname)
        return found

    def _find(
        self, fullname: str, dotted: str, roots: list[str]
    ) -> importlib.machinery.ModuleSpec | None:
        """The module or package `dotted`, looked up below each root in turn."""
        relative = dotted.replace(".", "/")
        for root in roots:
            base = "/".join(part for part in (root, relative) if part not in ("", "."))
            prefix = f"{base}/" if base else ""
            candidates = [f"{prefix}__init__.py"]
            if base:
                candidates += [f"{base}.py", f"{base}.ipynb"]
            for candidate in candidates:
                if candidate in self._sources:
                    return self._spec(fullname, candidate)
            if not base or base in self._folders:
                return self._package(fullname, base)
        return None

    def _spec(self, name: str, path: str) -> importlib.machinery.ModuleSpec:
        self._paths[name] = path
        is_package = path.endswith("__init__.py")
        spec = importlib.machinery.ModuleSpec(name, self, origin=ROOT + path, is_package=is_package)
        spec.has_location = True
        if is_package:
            spec.submodule_search_locations = [ROOT + path.removesuffix("__init__.py")]
        return spec

    def _package(self, name: str, folder: str) -> importlib.machinery.ModuleSpec:
        spec = importlib.machinery.ModuleSpec(name, self, is_package=True)
        spec.submodule_search_locations = [ROOT + folder]
        return spec

    def find_elsewhere(self, fullname: str) -> importlib.machinery.ModuleSpec | None:
        """The module of that name in whatever folder: the longest end of its name that fits.

        The root folder's own name stands for the root.
        """
        first, _, rest = fullname.partition(".")
        found = self._find(fullname, rest, ["."]) if first == self._root_name else None
        if found is not None:
            return found
        parts = fullname.removeprefix(f"{PACKAGE}.").split(".")
        for start in range(len(parts)):
            end = "/".join(parts[start:])
            files = [f"{end}.py", f"{end}/__init__.py", f"{end}.ipynb"]
            fitting = [p for p in self._sources if any(f"/{p}".endswith(f"/{f}") for f in files)]
            if fitting:
                return self._spec(fullname, min(fitting, key=lambda p: (p.count("/"), p)))
            folders = [f for f in self._folders if f"/{f}".endswith(f"/{end}")]
            if folders:
                return self._package(fullname, min(folders, key=lambda f: (f.count("/"), f)))
        return None

    # loader

    def create_module(self, spec: importlib.machinery.ModuleSpec) -> types.ModuleType | None:
        """The module when it was imported under another name before, else a new one."""
        return self._loaded.get(self._paths.get(spec.name, ""))

    def exec_module(self, module: types.ModuleType) -> None:
        """Run the module's chunks in its namespace."""
        spec = module.__spec__
        path = self._paths.get(spec.name if spec else "")
        if path is None or path in self._loaded:
            return
        self._loaded[path] = module
        module.__file__ = ROOT + path
        flags = 0
        waiting: list[tuple[ast.stmt, int, NameError]] = []
        try:
            for chunk in self._sources[path]:
                tree = chunk.tree()
                _stay_within(tree, len(PurePosixPath(path).parts))
                self._guarded.setdefault(ROOT + path, set()).update(guarded_lines(tree))
                no_device = self.device_guards.setdefault(path, set())
                no_device.update(guarded_lines(tree, NO_DEVICE))
                for statement in tree.body:
                    flags |= _future_flags(statement)
                    error = self._run(statement, flags, path, module)
                    if error is not None:
                        waiting.append((statement, flags, error))
            self._run_later(waiting, path, module)
        except BaseException:
            del self._loaded[path]
            raise

    def _run(
        self, statement: ast.stmt, flags: int, path: str, module: types.ModuleType
    ) -> NameError | None:
        """Run a statement; returns the error when it lacks a name that a later cell may give."""
        try:
            tree = ast.Module([statement], type_ignores=[])
            exec(compile(tree, ROOT + path, "exec", flags, dont_inherit=True), module.__dict__)
        except BaseException as error:
            if path not in self._tolerant:
                raise
            if isinstance(error, NameError) and len(self._sources[path]) > 1:
                return error
            self.errors.append((path, error))
        return None

    def _run_later(
        self,
        waiting: list[tuple[ast.stmt, int, NameError]],
        path: str,
        module: types.ModuleType,
    ) -> None:
        """Run what lacked a name when its turn came: cells are not always run in their order."""
        before = len(waiting) + 1
        while 0 < len(waiting) < before:
            before = len(waiting)
            again = [(s, flags, self._run(s, flags, path, module)) for s, flags, _ in waiting]
            waiting = [(s, flags, error) for s, flags, error in again if error is not None]
        self.errors.extend((path, error) for _, _, error in waiting)

    def get_source(self, name: str) -> str | None:
        """The text of a module, for `inspect` and `torch.jit`."""
        path = self._paths.get(name)
        return "".join(chunk.text for chunk in self._sources[path]) if path else None


def _stay_within(tree: ast.Module, depth: int) -> None:
    """Have relative imports that go above the submission's root go to the root."""
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.level > depth:
            node.level = depth


def _future_flags(statement: ast.stmt) -> int:
    """The compiler's flags that a `from __future__ import …` sets for what follows."""
    flags = 0
    if isinstance(statement, ast.ImportFrom) and statement.module == "__future__":
        for alias in statement.names:
            flags |= getattr(getattr(__future__, alias.name, None), "compiler_flag", 0)
    return flags
