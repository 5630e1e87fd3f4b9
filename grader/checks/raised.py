"""What it means when code raises: told by what it does not raise on."""

import re
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from grader.errors import CheckFailure, StudentError, StudentRaised

ELEMENTS = re.compile(r"invalid for input of size (\d+)")


@contextmanager
def raises_unlike(misconception: str, other: Callable[[], object]) -> Iterator[None]:
    """Say why the code inside raises, if it does and a call that differs in one thing does not.

    Args:
        misconception: what it means.
        other: the other call.
    """
    try:
        yield
    except StudentRaised as error:
        if error.misconception is None and _runs(other):
            error.misconception = misconception
        raise


@contextmanager
def fails_unlike(misconception: str, other: Callable[[], object]) -> Iterator[None]:
    """Say why the checks inside fail, or the code raises, where other checks pass.

    Args:
        misconception: what it means.
        other: the other checks.
    """
    try:
        with raises_unlike(misconception, other):
            yield
    except CheckFailure as failure:
        if failure.misconception is None and _runs(other):
            failure.misconception = misconception
        raise


@contextmanager
def lengths_differ(
    query: int, key: int, causal: Callable[[], bool] | None = None
) -> Iterator[None]:
    """Say why the code inside raises for queries of another length than the keys.

    Args:
        query: elements of the queries' tensor.
        key: elements of the keys' tensor, another number.
        causal: whether a causal mask shows where the lengths are equal; it fits no other.
    """
    try:
        yield
    except StudentRaised as error:
        if error.misconception is None:
            found = ELEMENTS.search(error.text)
            size = int(found[1]) if found else 0
            if size in (query, key):
                by_length = {key: "cross-length-of-query", query: "query-length-of-memory"}
                error.misconception = by_length[size]
            elif causal is not None and causal():
                error.misconception = "decoder-cross-causal"
            else:
                error.misconception = "cross-length-of-query"
        raise


def _runs(call: Callable[[], object]) -> bool:
    try:
        call()
    except (StudentError, CheckFailure):
        return False
    return True
