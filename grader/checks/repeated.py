"""Answers that change from call to call, which would look like other mistakes."""

from collections.abc import Callable

import torch
from torch import Tensor


def unless_random(misconception: str, call: Callable[[], Tensor]) -> str:
    """What it means that two outputs differ: the misconception, unless they differ in any case.

    Args:
        misconception: what it means where the same call gives the same output.
        call: any call of the module in eval mode.
    """
    first, second = call(), call()
    same = torch.allclose(first, second, rtol=1e-4, atol=1e-5, equal_nan=True)
    return misconception if same else "dropout-in-eval"
