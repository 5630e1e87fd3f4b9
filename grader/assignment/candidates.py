"""Which modules of a folder could be the one that is to be graded."""

import ast
from dataclasses import replace

from grader.assignment.rubric import Assignment
from grader.assignment.spelling import spelled_names
from grader.intake.definitions import definitions, is_implemented
from grader.intake.submission import Source, Submission


def candidates(submission: Submission, assignment: Assignment) -> list[str]:
    """The paths of modules each of which could be what is handed in; the likeliest first.

    One that another imports is a part of that, and tests are tests. Where one alone is named like
    the assignment's module, it is the one. Where no module holds half of the definitions, they lie
    in several, which belong together.
    """
    sources = submission.sources.values()
    names = set(spelled_names(assignment, sources).values())
    counts = {source.path: _implemented(source, names) for source in sources}
    imported = {path for source in sources for path in _imported(source, submission)}
    most = max(counts.values(), default=0)
    fitting = [
        source
        for source in sources
        if counts[source.path] >= max(1, most - 1, len(names) / 2)
        and source.path not in imported
        and not source.stem.startswith("test_")
        and not source.stem.endswith("_test")
    ]
    named = [source for source in fitting if source.stem == assignment.module]
    chosen = named or fitting
    return [s.path for s in sorted(chosen, key=lambda s: (-counts[s.path], s.path))]


def without(submission: Submission, several: list[str], chosen: str) -> Submission:
    """The submission without the other candidates."""
    left = {
        path: source
        for path, source in submission.sources.items()
        if path == chosen or path not in several
    }
    return replace(submission, sources=left)


def _implemented(source: Source, names: set[str]) -> int:
    own = {n: s for n, s in definitions(source).items() if n in names}
    return sum(
        is_implemented(s) for s in own.values() if not isinstance(s, (ast.Import, ast.ImportFrom))
    )


def _imported(source: Source, submission: Submission) -> set[str]:
    """The paths of the modules of the submission that a module imports."""
    stems = set()
    for node in ast.walk(source.tree):
        if isinstance(node, ast.Import):
            stems |= {alias.name.rpartition(".")[2] for alias in node.names}
        elif isinstance(node, ast.ImportFrom):
            stems |= {alias.name for alias in node.names}
            stems.add((node.module or "").rpartition(".")[2])
    others = submission.sources.values()
    return {o.path for o in others if o.stem in stems and o.path != source.path}
