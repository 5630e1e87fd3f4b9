"""Imports the student's modules from memory, the way a run from their own folder would.

Only standard library: this runs in the worker. Sources are compiled from the very text that the
trusted side read. A module is one object however it is imported: as `layers`, as `src.layers`, or
as `.layers` from a neighbour.
"""

import importlib.abc
import importlib.machinery
import importlib.util
import linecache
import sys
import types
from collections.abc import Sequence
from pathlib import PurePosixPath
from typing import Any

ROOT = "/submission/"  # what the file names of student code begin with; no such folder exists
PACKAGE = "__submission__"  # the package that the submission's root folder is, for relative imports
HIDDEN = {"grader", "reference", "assignments", "student_template"}


class Chunk:
    """A part of a source that is executed by itself: a whole `.py` file, or one notebook cell."""

    def __init__(self, first_line: int, text: str) -> None:
        self.first_line = first_line
        self.text = text


class StudentModules(importlib.abc.MetaPathFinder, importlib.abc.Loader):
    """Finder and loader for the modules of one submission.

    Args:
        sources: for each path relative to the submission's root, its chunks in order.
        entry: path of the module that is graded; its folder and the folders above it, up to the
            root, are where absolute imports are looked up.
        tolerant: paths of modules in which a chunk that raises lets the next ones run, as a
            notebook's cells do.
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
        for path, chunks in sources.items():
            text = "".join(chunk.text for chunk in chunks)
            lines = text.splitlines(keepends=True)
            linecache.cache[ROOT + path] = (len(text), None, lines, ROOT + path)

    def install(self) -> None:
        """Serve imports from now on.

        The submission's modules go before installed ones, as a script's folder does, but not before
        what is loaded already: so its `math.py` or `torch.py` replaces nothing.
        """
        sys.meta_path.insert(0, self)

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
        if found is None and first == self._root_name:
            found = self._find(fullname, rest, ["."])
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
        try:
            for chunk in self._sources[path]:
                self._run(chunk, path, module)
        except BaseException:
            del self._loaded[path]
            raise

    def _run(self, chunk: Chunk, path: str, module: types.ModuleType) -> None:
        padded = "\n" * (chunk.first_line - 1) + chunk.text
        try:
            code = compile(padded, ROOT + path, "exec", dont_inherit=True)
            exec(code, module.__dict__)
        except BaseException as error:
            if path not in self._tolerant:
                raise
            self.errors.append((path, error))

    def get_source(self, name: str) -> str | None:
        """The text of a module, for `inspect` and `torch.jit`."""
        path = self._paths.get(name)
        return "".join(chunk.text for chunk in self._sources[path]) if path else None
