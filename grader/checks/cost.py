"""Checks of how a cost grows with the sequence length."""

import time
from collections.abc import Mapping
from fractions import Fraction

from grader.checks.draw import Draw
from grader.errors import CheckFailure
from grader.student import Definition

SLOW_SECONDS = 0.7  # for 128 positions; four times that for 256, sixteen times for 512


def polynomial(counts: Mapping[int, int]) -> list[Fraction]:
    """The coefficients, lowest first, of the polynomial through the points (n, count), exactly."""
    points = [(Fraction(n), Fraction(count)) for n, count in counts.items()]
    rows = [[n**power for power in range(len(points))] + [count] for n, count in points]
    for column in range(len(rows)):  # Gauss-Jordan; n are distinct, so a pivot exists
        pivot = next(row for row in range(column, len(rows)) if rows[row][column])
        rows[column], rows[pivot] = rows[pivot], rows[column]
        rows[column] = [entry / rows[column][column] for entry in rows[column]]
        for row in range(len(rows)):
            if row != column and rows[row][column]:
                factor = rows[row][column]
                rows[row] = [a - factor * b for a, b in zip(rows[row], rows[column], strict=True)]
    return [row[-1] for row in rows]


def table(counts: Mapping[int, int]) -> str:
    """Lengths, operations, and the ratio to the length before, as a line each."""
    lines = []
    before: int | None = None
    for n, count in counts.items():
        ratio = f", {count / before:.2f}×" if before else ""
        lines.append(f"n = {n}: {count:,} operations{ratio}")
        before = count
    return "\n".join(lines)


def attention_costs(attend: Definition, draw: Draw) -> dict[int, int]:
    """Operations of an attention function for n = 64, 128, 256 and 512, with d_k = 16.

    Code that is slow at 128, such as loops over all pairs, is counted at 16 and 32 besides; the
    polynomial through these counts gives the two longer lengths.
    """

    def count(n: int) -> int:
        query, key, value = (draw.normal(1, 1, n, 16) for _ in range(3))
        return attend.call(query, key, value, count=True).operations or 0

    counts = {64: count(64)}
    begun = time.monotonic()
    counts[128] = count(128)
    if time.monotonic() - begun < SLOW_SECONDS:
        return {**counts, 256: count(256), 512: count(512)}
    coefficients = polynomial({16: count(16), 32: count(32), **counts})
    for n in (256, 512):
        counts[n] = int(sum(c * n**power for power, c in enumerate(coefficients)))
    return counts


def quadratic_table(counts: Mapping[int, int]) -> str:
    """Lengths, operations and ratios, with the part that grows with n² beside them."""
    _, _, quadratic, _ = polynomial(counts)
    lines = ["   n    operations   ratio   part in n²   ratio"]
    before: int | None = None
    for n, count in counts.items():
        ratio = f"{count / before:.3f}" if before else ""
        part, fourfold = int(quadratic * n * n), "4.000" if before and quadratic else ""
        lines.append(f"{n:>4} {count:>13,} {ratio:>7} {part:>12,} {fourfold:>7}")
        before = count
    return "\n".join(lines)


def assert_quadratic(counts: Mapping[int, int], what: str) -> None:
    """See that a cost is quadratic in n: no cubic part, and a quadratic part that dominates.

    Args:
        counts: operations for four lengths, each twice the one before. The polynomial of degree 3
            through them is exact for any code whose operations depend on n alone.
        what: how the message calls it.
    """
    largest = max(counts)
    _, _, quadratic, cubic = polynomial(counts)
    total = counts[largest]
    before = counts[largest // 2]
    if total <= 0:
        raise CheckFailure(
            "No operation could be counted, so a person must look at the cost.",
            "a cost that grows 4× when n doubles",
            table(counts),
            status="review",
        )
    expected = f"the part that grows with n² dominates: {what} costs 4× when n doubles"
    if 3.5 <= total / max(before, 1) <= 4.3:
        return  # also where lengths are padded to blocks, so that no polynomial fits
    if cubic * largest**3 > total / 4:
        raise CheckFailure(
            f"The cost of {what} grows faster than n².",
            expected,
            table(counts),
            misconception="cost-cubic",
        )
    if quadratic * largest**2 < total / 2:
        raise CheckFailure(
            f"The cost of {what} grows more slowly than n².",
            expected,
            table(counts),
            misconception="cost-linear",
        )


def assert_towards_quadratic(counts: Mapping[int, int], what: str) -> None:
    """See that each doubling costs between 2× and 4×, and more each time, towards 4×."""
    values = list(counts.values())
    if min(values) <= 0:
        assert_quadratic(counts, what)
    ratios = [after / before for before, after in zip(values, values[1:], strict=False)]
    expected = "ratios between 2 and 4 that grow towards 4 (projections are linear in n)"
    if ratios[-1] > 4.2:
        raise CheckFailure(
            f"The cost of {what} grows faster than n².", expected, table(counts),
            misconception="cost-cubic",
        )  # fmt: skip
    growing = all(a < b + 0.01 for a, b in zip(ratios, ratios[1:], strict=False))
    padded = ratios[-1] >= 3.0  # to blocks, so that short lengths all cost the same
    if ratios[-1] < 2.3 or not (padded or (growing and ratios[0] >= 1.9)):
        raise CheckFailure(
            f"The cost of {what} does not grow as attention's does.", expected, table(counts),
            misconception="cost-linear",
        )  # fmt: skip
