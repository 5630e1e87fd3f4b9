"""The titles of checks: the first line of each test's docstring."""

import ast
from functools import lru_cache
from pathlib import Path

from grader.assignment import Assignment
from grader.errors import AssignmentError

PREFIX = "test_"


def titles(assignment: Assignment) -> dict[str, str]:
    """The title of every check of an assignment, by id."""
    found = test_functions(assignment.folder)
    return {
        check.id: (ast.get_docstring(found[check.id]) or check.id).splitlines()[0]
        if check.id in found
        else check.id
        for _, check in assignment.checks()
    }


@lru_cache(maxsize=32)
def test_functions(folder: Path) -> dict[str, ast.FunctionDef]:
    """The test functions in a folder's test modules, by the id of their check.

    Raises:
        AssignmentError: a module cannot be parsed, or two functions have the same name.
    """
    found: dict[str, ast.FunctionDef] = {}
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
                found[name] = node
    return found
