"""What a failed value check tells besides its numbers: where the code leaves the recipe."""

from collections.abc import Callable, Sequence

from grader.diagnosis.steps import Step, StepTable, step_table
from grader.errors import CheckFailure, Frame
from grader.student import CallResult, Definition, Layer

NOT_TRACED = (
    "The steps could not be traced: none of PyTorch's operations ran on a line of yours "
    "(NumPy and compiled code leave no trace)."
)


def with_steps(
    failure: CheckFailure, target: Definition | Layer, steps: Sequence[Step], traced: CallResult
) -> CheckFailure:
    """The failure with a table of the recipe's steps, each found or not, and the line to look at.

    Args:
        failure: as it is without.
        target: what was called.
        steps: what the recipe gives on the traced call's inputs.
        traced: the call, with its events.
    """
    events = [event for event in traced.events or [] if event.frame is not None]
    table = step_table(steps, events)
    if table is None:
        failure.steps = NOT_TRACED
        return failure
    failure.steps = steps_text(table, target)
    failure.reached = table.share
    if table.deviation is not None and not failure.frames:
        failure.frames = (table.deviation,)
    return failure


def steps_text(table: StepTable, target: Definition | Layer) -> str:
    """A table of steps as text, a line a step."""
    files = {row.frame.file for row in table.rows if row.frame is not None}
    files |= {table.deviation.file} if table.deviation is not None else set()

    def place(frame: Frame | None) -> str:
        if frame is None:
            return "a line of PyTorch's"
        text = target.place(frame)
        return text.removeprefix(f"{frame.file}, ") if len(files) == 1 else text

    of = f" ({next(iter(files))})" if len(files) == 1 else ""
    lines = [f"Steps of the recipe in your code{of}:"]
    reached = table.reached
    for row in table.rows[:reached]:
        lines.append(
            f"  ✓ {row.title}: {place(row.frame) if row.found else 'together with a later step'}"
        )
    if reached == len(table.rows):
        return "\n".join([*lines, "All steps are there, but what is returned is something else."])
    lines.append(f"  ✗ {table.rows[reached].title}: not found{_where(table, place)}")
    if rest := table.rows[reached + 1 :]:
        lines.append(f"  · {' · '.join(row.title for row in rest)}")
    return "\n".join(lines)


def _where(table: StepTable, place: Callable[[Frame | None], str]) -> str:
    """Where the missing step should have come, and what stands there in its place."""
    after = f"; it should come after {place(table.last)}" if table.last is not None else ""
    if table.deviation is None or table.deviation == table.last:
        return after
    return f"{after}; {place(table.deviation)} computes something else"
