"""Points on another scale, which add up all the same."""

import math
from collections.abc import Iterable, Sequence
from decimal import ROUND_HALF_UP, Decimal

from grader.report.model import plain_number

PLACES = 2  # decimal places that are kept, or as many as full marks have


def rescaled(value: Decimal, of: Decimal, to: Decimal) -> Decimal:
    """Points of `of` as points of `to`, rounded half up; full marks are full marks.

    Args:
        value: the points.
        of: full marks, as they are.
        to: full marks, as they are to be.
    """
    if of == to or not of:
        return value
    exponent = to.as_tuple().exponent
    places = max(PLACES, -exponent if isinstance(exponent, int) else 0)
    return min(to, (value * to / of).quantize(Decimal(1).scaleb(-places), ROUND_HALF_UP))


def rescaled_parts(parts: Sequence[Decimal], of: Decimal, to: Decimal) -> list[Decimal]:
    """Parts of a sum on another scale, whose sum is that of all of them on that scale.

    Each is the difference of the rounded sums up to it, so it is never negative, at most a unit of
    the last place away from its own value, and 0 where it was 0.
    """
    if of == to:
        return list(parts)
    before = total = Decimal(0)
    found = []
    for part in parts:
        total += part
        now = rescaled(total, of, to)
        found.append(now - before)
        before = now
    return found


def adding_up(parts: Iterable[Decimal]) -> list[int | float]:
    """Numbers of JSON that, added from the first to the last as doubles, give the exact sum.

    Where they would not, the last that is not 0 is adjusted, by less than anybody can see. Where
    that is not enough, since no double is the difference, all become multiples of the sum's own
    precision, among which every sum is exact.
    """
    exact = list(parts)
    numbers = [plain_number(part) for part in exact]
    total = float(sum(exact, Decimal(0)))
    last = max((index for index, part in enumerate(exact) if part), default=None)
    if last is None or added(numbers) == total:
        return numbers
    numbers[last] = total - added(numbers[:last])
    if added(numbers) == total:
        return numbers
    unit = math.ulp(total)
    numbers = [round(number / unit) * unit for number in numbers]
    numbers[last] = total - added(numbers[:last])
    return numbers


def added(numbers: Iterable[int | float]) -> float:
    """The sum as a reader comes to it that adds one double to the next."""
    total = 0.0
    for number in numbers:
        total += number
    return total


def scaled_to_integers(values: Iterable[Decimal]) -> int:
    """The least power of ten by which all values become whole."""
    scale = 1
    for value in values:
        while value * scale != (value * scale).to_integral_value():
            scale *= 10
    return scale
