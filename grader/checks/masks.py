"""Tells a mask of the opposite convention from one that hides nothing, or the wrong things."""

from collections.abc import Callable

from torch import Tensor

from grader.errors import CheckFailure, StudentError


def unless_inverted(hides: Callable[[Tensor], None], mask: Tensor) -> None:
    """Carry out a check of a mask; where only the inverse of the mask passes it, name that.

    Args:
        hides: the check, with the mask that the submission is given; raises a CheckFailure.
        mask: of either convention: bool, or 0/1 of any dtype.

    Raises:
        CheckFailure: the check's own, as `mask-inverted` where the submission does with the inverse
            what it should do with the mask.
    """
    try:
        hides(mask)
    except CheckFailure as failure:
        if failure.misconception is None and _passes(hides, (mask == 0).to(mask.dtype)):
            failure.misconception = "mask-inverted"
        raise


def _passes(hides: Callable[[Tensor], None], mask: Tensor) -> bool:
    try:
        hides(mask)
    except (CheckFailure, StudentError):
        return False
    return True
