"""Which definition of a submission stands for which name of the assignment.

The assignment's own name counts wherever it is bound. Where it is bound nowhere, a definition of
the submission's own under a usual other name stands for it. A name that is merely like the
assignment's is asked for, never used.
"""

import ast
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from grader.assignment.rubric import Assignment, Component
from grader.intake.definitions import (
    defined_names,
    definitions,
    is_implemented,
    is_misspelling,
    nearest_name,
)
from grader.intake.submission import Source


@dataclass(frozen=True)
class Defined:
    """A name that a submission defines itself, with the statement and the module that do."""

    name: str
    source: Source
    statement: ast.stmt

    @property
    def kind(self) -> str:
        """What it is, for messages."""
        if isinstance(self.statement, ast.ClassDef):
            return "class"
        return "function" if isinstance(self.statement, ast.FunctionDef) else "value"


def own_definitions(sources: Iterable[Source]) -> dict[str, Defined]:
    """What the modules bind by more than an import; of several, the first that does something."""
    found: dict[str, Defined] = {}
    for source in sources:
        for name, statement in definitions(source).items():
            if isinstance(statement, (ast.Import, ast.ImportFrom)):
                continue
            if name not in found or not is_implemented(found[name].statement):
                found[name] = Defined(name, source, statement)
    return found


def spelled_names(assignment: Assignment, sources: Iterable[Source]) -> dict[str, str]:
    """For each name of the assignment the one under which the submission is asked for it.

    Another name counts when it is a class where a module is asked for, or else a function, and when
    the submission itself defines it: an imported `TransformerEncoderLayer` is nobody's own block.

    Args:
        assignment: what is asked for; with `other_names = "costs"` its own names are all that
            count.
        sources: the submission's modules.
    """
    sources = list(sources)
    spelled = {name: name for name in assignment.names}
    if assignment.other_names == "costs":
        return spelled
    bound, own = defined_names(sources), own_definitions(sources)
    for component in assignment.components:
        if component.name not in bound and not any(is_misspelling(n, component.name) for n in own):
            others = _others(component, own)
            spelled[component.name] = next(iter(others), component.name)
    return spelled


def _others(component: Component, own: Mapping[str, Defined]) -> list[str]:
    """The usual other names of a component that are defined, what is implemented first."""
    fitting = [n for n in component.usual_names if n in own and _is_of_kind(own[n], component)]
    return sorted(fitting, key=lambda name: not is_implemented(own[name].statement))


def _is_of_kind(defined: Defined, component: Component) -> bool:
    match defined.statement:
        case ast.ClassDef():
            return component.is_module
        case ast.FunctionDef() | ast.Assign(value=ast.Lambda()):
            return not component.is_module
    return False


def nearest_definition(
    assignment: Assignment, name: str, sources: Iterable[Source]
) -> Defined | None:
    """What was probably meant for a name of the assignment that is not there; None if nothing was.

    A usual other name where those cost points, or else what is named most like it.
    """
    sources = list(sources)
    own = own_definitions(sources)
    for taken in (*assignment.names, *spelled_names(assignment, sources).values()):
        own.pop(taken, None)
    others = _others(assignment.component(name), own) if assignment.other_names == "costs" else []
    near = next(iter(others), None) or nearest_name(name, own)
    return own[near] if near else None
