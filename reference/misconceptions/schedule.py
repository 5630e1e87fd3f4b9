"""Wrong learning rate schedules: warmup and cosine of the reference with one part replaced."""

import math
from collections.abc import Callable
from functools import partial

from reference.training import warmup_cosine

# step, warmup_steps, total_steps, lr_max -> learning rate
Schedule = Callable[[int, int, int, float], float]
Curve = Callable[[int, int, int], float]  # step, warmup_steps, total_steps -> share of lr_max


def _progress(step: int, warmup: int, total: int) -> float:
    """0 at the end of warmup, 1 at the last step."""
    return (step - warmup) / (total - warmup)


def _cosine(progress: float) -> float:
    return (1 + math.cos(math.pi * progress)) / 2


def _after_warmup(curve: Curve) -> Schedule:
    """The right warmup, then another curve."""

    def schedule(step: int, warmup: int, total: int, lr_max: float) -> float:
        return lr_max * (step / warmup if step < warmup else curve(step, warmup, total))

    return schedule


def _warming(curve: Curve) -> Schedule:
    """Another curve until warmup ends, then the right one."""

    def schedule(step: int, warmup: int, total: int, lr_max: float) -> float:
        if step < warmup:
            return lr_max * curve(step, warmup, total)
        return warmup_cosine(step, warmup, total, lr_max)

    return schedule


def _again(times: int, step: int, warmup: int, total: int) -> float:
    """Several cosines, each from the greatest rate on."""
    return _cosine(times * _progress(step, warmup, total) % 1)


def _not_below(least: float, step: int, warmup: int, total: int) -> float:
    return least + (1 - least) * _cosine(_progress(step, warmup, total))


SCHEDULE_MUTANTS: dict[str, list[Schedule]] = {
    "schedule-no-warmup": [
        lambda step, warmup, total, lr_max: lr_max * _cosine(step / total),
        _warming(lambda step, warmup, total: 1.0),
    ],
    "schedule-off-by-one": [
        lambda step, warmup, total, lr_max: warmup_cosine(step + 1, warmup, total, lr_max),
        _warming(lambda step, warmup, total: (step + 1) / warmup),
        _warming(lambda step, warmup, total: (step + 1) / (warmup + 1)),
        _warming(lambda step, warmup, total: step / max(warmup - 1, 1)),
    ],
    "schedule-cosine-unshifted": [
        _after_warmup(lambda step, warmup, total: _cosine(step / total)),
        _after_warmup(lambda step, warmup, total: _cosine((step - warmup) / total)),
        lambda step, warmup, total, lr_max: (
            lr_max * _cosine(step / total) * min(1.0, step / warmup)  # as a factor of the warmup
        ),
    ],
    "schedule-linear-decay": [
        _after_warmup(lambda step, warmup, total: 1 - _progress(step, warmup, total))
    ],
    "schedule-restarts": [
        _after_warmup(lambda step, warmup, total: _cosine(2 * _progress(step, warmup, total))),
        *(_after_warmup(partial(_again, times)) for times in (2, 3, 4, 5)),
    ],
    "schedule-not-to-zero": [
        _after_warmup(lambda step, warmup, total: 1.0),
        *(_after_warmup(partial(_not_below, least)) for least in (0.01, 0.05, 0.1)),
    ],
}
