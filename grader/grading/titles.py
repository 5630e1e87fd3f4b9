"""The titles of checks: the first line of each test's docstring."""

import ast
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from grader.assignment import Assignment
from grader.errors import AssignmentError

PREFIX = "test_"


def titles(assignment: Assignment) -> dict[str, str]:
    """The title of every check of an assignment, by id."""
    result = {}
    for _, check in assignment.checks():
        test = test_functions(assignment.test_folder(check)).get(check.id)
        docstring = ast.get_docstring(test.node) if test else None
        result[check.id] = docstring.splitlines()[0] if docstring else check.id
    return result


@dataclass(frozen=True)
class TestFunction:
    """A check's test, and the file that it stands in."""

    node: ast.FunctionDef
    path: Path


@lru_cache(maxsize=32)
def test_functions(folder: Path) -> dict[str, TestFunction]:
    """The test functions in a folder's test modules, by the id of their check.

    Raises:
        AssignmentError: a module cannot be parsed, or two functions have the same name.
    """
    found: dict[str, TestFunction] = {}
    for path in sorted(folder.glob("test_*.py")):
        try:
            tree = ast.parse(path.read_text(encoding="utf-8"))
        except (OSError, SyntaxError, ValueError) as error:
            raise AssignmentError(f"{path} cannot be parsed: {error}") from None
        for node in tree.body:
            if isinstance(node, ast.FunctionDef) and node.name.startswith(PREFIX):
                name = node.name.removeprefix(PREFIX)
                if name in found:
                    raise AssignmentError(f"{path}: there are two tests named {node.name}")
                found[name] = TestFunction(node, path)
    return found
