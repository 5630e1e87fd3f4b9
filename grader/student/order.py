"""Whether a submission takes the assignment's arguments in another order, as their names say."""

from collections.abc import Sequence

from grader.assignment import Assignment, Component
from grader.intake.signatures import Signature
from grader.worker.binding import matches

FORWARD = ("forward", "__call__")  # the methods that a module's call may run


def other_order(
    signature: Signature, component: Component, assignment: Assignment
) -> tuple[list[str], list[str]] | None:
    """The order of a submission's arguments beside the assignment's; None where they agree.

    Only names that leave no doubt count: each parameter without a default names an argument.

    Args:
        signature: how the submission's function or method is called.
        component: what it stands for.
        assignment: says what arguments are called.

    Returns:
        The parameters as the submission orders them, and the arguments that they name as the
        assignment does.
    """
    is_forward = component.forward is not None and signature.called.split(".")[-1] in FORWARD
    wanted = (component.forward or ()) if is_forward else component.arguments
    wanted = tuple(name for name in wanted if name not in component.keywords)
    found = matches(signature.positional, [assignment.argument_names(name) for name in wanted])
    named = {name: place for name, place in zip(wanted, found, strict=True) if place is not None}
    places = list(named.values())
    required = {signature.positional.index(name) for name in signature.required}
    if places == sorted(places) or not required <= set(places):
        return None
    return [signature.positional[place] for place in sorted(places)], list(named)


def order_text(called: str, theirs: Sequence[str], ours: Sequence[str]) -> str:
    """The sentence for arguments in another order."""
    return (
        f"`{called}` takes its arguments in the order ({', '.join(theirs)}); "
        f"the assignment's order is ({', '.join(ours)})."
    )
