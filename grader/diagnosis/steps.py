"""How far a computation follows the recipe, and at which line it leaves it.

A call is traced on a tiny input: every tensor that it computes, with the student's line. Each step
of the recipe is then looked up among these tensors by its numbers, in whatever shape or order they
lie, whole or in parts (one head, one query at a time). What a worker says of its steps is its own
word, so they explain a failure and never decide whether there is one.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import Protocol

import torch
from torch import Tensor

from grader.errors import Frame

HIDDEN = -1e4  # masked scores are this or less


class Traced(Protocol):
    """A tensor that was computed, and the student's line."""

    @property
    def value(self) -> Tensor:
        """The tensor."""

    @property
    def frame(self) -> Frame | None:
        """The line, where one is known."""


@dataclass(frozen=True)
class Step:
    """A step of a recipe.

    Attributes:
        title: what it does.
        value: what it gives, in any shape.
        hidden: of that shape, True where a very negative number or 0 may stand; None for nowhere.
        heads: where the step only moves numbers about, so that their order is what is looked up:
            the dimension of the heads, which may come one by one, or -1; None where it computes.
        feeds: how many steps later its result is used.
    """

    title: str
    value: Tensor
    hidden: Tensor | None = None
    heads: int | None = None
    feeds: int = 1


@dataclass(frozen=True)
class Row:
    """A step in a table.

    Attributes:
        title: what it does.
        found: whether its numbers were computed.
        done: whether they were, or those of a step that needs them.
        frame: at which line, where one is known.
    """

    title: str
    found: bool
    done: bool
    frame: Frame | None


@dataclass(frozen=True)
class StepTable:
    """Each step of a recipe, found or not.

    Attributes:
        rows: in the order of the recipe.
        last: the line of the last step found before the first that is missing, where there is one.
        deviation: the line that computes something else in place of the first missing step, or
            else that of the last step found.
    """

    rows: tuple[Row, ...]
    last: Frame | None
    deviation: Frame | None

    @property
    def reached(self) -> int:
        """How many steps the recipe is followed, up to the first that is missing."""
        return next((n for n, row in enumerate(self.rows) if not row.done), len(self.rows))

    @property
    def share(self) -> Fraction:
        """The part of the steps that the recipe is followed; what is returned is the last step."""
        return Fraction(self.reached, len(self.rows) + 1)


def step_table(steps: Sequence[Step], events: Sequence[Traced]) -> StepTable | None:
    """The steps as they are found among what was computed; None where nothing was traced.

    Args:
        steps: of the recipe, in order.
        events: what was computed, in order.
    """
    events = [event for event in events if event.value.numel() > 0]
    if not events:
        return None
    values = torch.cat([event.value.reshape(-1).double() for event in events])
    owner = torch.repeat_interleave(
        torch.arange(len(events)), torch.tensor([event.value.numel() for event in events])
    )
    samples = torch.stack([_sample(event.value).double() for event in events])
    places = [
        _place(step, values, owner, samples) if step.heads is None else _ordered_place(step, events)
        for step in steps
    ]
    says = [_says_something(step) for step in steps]
    found = [place is not None for place in places]
    done = [is_there or not told for is_there, told in zip(found, says, strict=True)]
    for number in reversed(range(len(steps))):
        user = number + steps[number].feeds
        done[number] = done[number] or (user < len(steps) and says[user] and done[user])
    rows = tuple(
        Row(step.title, place is not None, known, None if place is None else events[place].frame)
        for step, place, known, told in zip(steps, places, done, says, strict=True)
        if told
    )
    missing = next((number for number, known in enumerate(done) if not known), None)
    if missing is None:
        return StepTable(rows, rows[-1].frame, rows[-1].frame)
    last = _before(steps, places, missing)
    frame = events[last].frame if last is not None else None
    return StepTable(rows, frame, _deviation(steps[missing], events, last) or frame)


def _says_something(step: Step) -> bool:
    """Whether a step's numbers differ, so that finding them means something."""
    return float(step.value.max() - step.value.min()) > 1e-6


def _before(steps: Sequence[Step], places: Sequence[int | None], missing: int) -> int | None:
    """The event of the last step found before a missing one, if possible of one that it uses."""
    found = [(number, place) for number, place in enumerate(places[:missing]) if place is not None]
    used = [place for number, place in found if number + steps[number].feeds == missing]
    return max(used, default=found[-1][1] if found else None)


def _sample(value: Tensor) -> Tensor:
    """Three of an event's numbers, by which most events can be passed over."""
    flat = value.reshape(-1)
    return flat[[0, len(flat) // 2, -1]]


def _place(step: Step, values: Tensor, owner: Tensor, samples: Tensor) -> int | None:
    """The event that holds most of a step's numbers, if all of them are held by some event.

    An event holds a step's numbers when it holds nothing else.

    Args:
        step: what is looked for.
        values: of all events, end to end.
        owner: the event of each value.
        samples: some values of each event, one row an event.
    """
    flat = step.value.reshape(-1).double()
    if step.hidden is not None:
        flat = flat[~step.hidden.expand_as(step.value).reshape(-1)]
    wanted = torch.unique(flat)
    if len(wanted) == 0:
        return None
    _, near, free = _nearest(step, wanted, samples)
    likely = (near | free).all(dim=1)[owner]
    values, owner = values[likely], owner[likely]
    nearest, near, free = _nearest(step, wanted, values)
    pure = torch.ones(len(samples), dtype=torch.long)
    pure.scatter_reduce_(0, owner, (near | free).long(), "amin")
    counts = near & ~free & pure[owner].bool()
    if len(torch.unique(nearest[counts])) < len(wanted):
        return None
    held = torch.unique(owner[counts] * len(wanted) + nearest[counts]) // len(wanted)
    return int(torch.bincount(held, minlength=len(samples)).argmax())


def _nearest(step: Step, wanted: Tensor, values: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Which wanted number each value is nearest to, whether it is that one, and whether it is free.

    Args:
        step: what is looked for; in place of what it hides, a value that hides or 0 is free.
        wanted: its numbers, sorted.
        values: of any shape.
    """
    right = torch.searchsorted(wanted, values).clamp_max(len(wanted) - 1)
    left = (right - 1).clamp_min(0)
    nearest = torch.where(
        (wanted[right] - values).abs() <= (wanted[left] - values).abs(), right, left
    )
    near = (wanted[nearest] - values).abs() <= 1e-5 + 1e-4 * wanted[nearest].abs()
    if step.hidden is None:
        return nearest, near, torch.zeros_like(near)
    return nearest, near, (values <= HIDDEN) | (values == 0)


def _ordered_place(step: Step, events: Sequence[Traced]) -> int | None:
    """The event that holds a step's numbers in their order, or the first of several, one a head."""
    assert step.heads is not None
    parts = step.value.unbind(step.heads) if step.heads >= 0 else ()
    first: dict[int, int] = {}
    for number, event in enumerate(events):
        if _same_order(event.value, step.value):
            return number
        for head, part in enumerate(parts):
            if head not in first and _same_order(event.value, part):
                first[head] = number
    return min(first.values()) if parts and len(first) == len(parts) else None


def _same_order(value: Tensor, other: Tensor) -> bool:
    """Whether two tensors hold the same numbers in order, or with the last two axes swapped."""
    if value.numel() != other.numel():
        return False
    flat = value.reshape(-1).float()
    return any(
        torch.allclose(flat, form.reshape(-1).float(), rtol=1e-4, atol=1e-5)
        for form in (other, other.transpose(-1, -2))
    )


def _deviation(step: Step, events: Sequence[Traced], last: int | None) -> Frame | None:
    """The first line after the last step found that gives something of the missing one's size."""
    start = 0 if last is None else last + 1
    known = events[last].value if last is not None else None
    if step.heads is not None:
        later = events[start:]
        moved = (event.frame for event in later if event.value.shape == step.value.shape)
        if (line := next((frame for frame in moved if frame is not None), None)) is not None:
            return line
    for event in events[start:]:
        same_size = event.value.numel() == step.value.numel()
        if event.frame is not None and same_size and not _same_numbers(event.value, known):
            return event.frame
    return None


def _same_numbers(value: Tensor, other: Tensor | None) -> bool:
    """Whether two tensors hold the same numbers, in any order."""
    if other is None or value.numel() != other.numel():
        return False
    first, second = value.double().flatten().sort()[0], other.double().flatten().sort()[0]
    return torch.allclose(first, second, rtol=1e-4, atol=1e-5)
