"""What is wrong with an assignment: rubric and tests that do not fit, and missing words."""

import ast

from grader.assignment import Assignment
from grader.assignment.usual import SHARED
from grader.grading.titles import test_functions
from grader.intake.definitions import is_misspelling


def problems(assignment: Assignment) -> list[str]:
    """One line for each problem; empty when the assignment is sound.

    A row without a test, or a test without a row, is a problem; so is a test without a docstring,
    since that is its title, or one that asks for no fixture `student`, since it checks nothing.
    Another name that could mean two definitions, or two arguments of one call, is one, too.
    """
    found = test_functions(assignment.folder)
    rows = {check.id for _, check in assignment.checks() if not check.from_}
    taken = [check for _, check in assignment.checks() if check.from_]
    result = [f"{name}: a row without a test" for name in sorted(rows - found.keys())]
    result += [
        f"{name}: a test without a row in the rubric" for name in sorted(found.keys() - rows)
    ]
    result += [
        f"{check.id}: {check.from_} has no test of that id"
        for check in taken
        if check.id not in test_functions(assignment.test_folder(check))
    ]
    for name, test in sorted(found.items()):
        function = test.node
        if not ast.get_docstring(function):
            result.append(f"{name}: the test has no docstring, which would be its title")
        if "student" not in {argument.arg for argument in function.args.args}:
            result.append(f"{name}: the test does not use the fixture `student`")
    if assignment.folder.name != assignment.id:
        result.append(f"the folder is {assignment.folder.name}, the id {assignment.id}")
    return result + _ambiguous_names(assignment) + _ambiguous_arguments(assignment)


def _ambiguous_names(assignment: Assignment) -> list[str]:
    """Other names that mean two components, or that are a misspelling of the component's own."""
    meant = {name: name for name in assignment.names}
    result = []
    for component in assignment.components:
        for name in component.usual_names:
            first = meant.setdefault(name, component.name)
            if first != component.name:
                result.append(f"{name}: another name of {first} and of {component.name}")
            if is_misspelling(name, component.name):
                result.append(f"{name}: a misspelling of {component.name}, which is never used")
    return result


def _ambiguous_arguments(assignment: Assignment) -> list[str]:
    """Names that mean two arguments of one call."""
    result = []
    for component in assignment.components:
        for arguments in (component.arguments, component.forward or ()):
            meant: dict[str, str] = {}
            for argument in arguments:
                for name in assignment.argument_names(argument):
                    first = meant.setdefault(name, argument)
                    if first != argument and name not in SHARED:
                        where = f"both arguments of {component.name}"
                        result.append(f"{name}: a name of {first} and of {argument}, {where}")
    return result
