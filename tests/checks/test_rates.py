"""The learning rates of a training, read off the norms of a matrix that decays."""

import pytest

from grader.checks.training import Rates, rates_of, rates_text
from reference import warmup_cosine

DECAY, LR = 20.0, 2e-4


def norms(rates):
    """A matrix's norms before each step and after the last, for rates as shares of LR."""
    found = [3.0]
    for rate in rates:
        found.append(found[-1] * (1 - rate * LR * DECAY))
    return found


def schedule(steps, warmup):
    return [warmup_cosine(step, warmup, steps, 1.0) for step in range(steps)]


@pytest.mark.parametrize(("steps", "warmup"), [(50, 5), (150, 15), (600, 1), (50, 25)])
def test_the_rates_of_a_right_training_are_read_step_by_step(steps, warmup):
    wanted = schedule(steps, warmup)
    read = rates_of(norms(wanted), DECAY, LR)
    assert read.steps == pytest.approx([rate for rate in wanted if rate], abs=1e-6)
    assert read.mean == pytest.approx(0.5, abs=0.02)
    assert read.end < 0.05
    assert read.rise == pytest.approx(0, abs=1e-6)


def test_calls_between_which_no_step_is_taken_count_once():
    wanted = norms(schedule(50, 5))
    several = [norm for norm in wanted[:-1] for _ in range(3)] + wanted[-1:]
    assert rates_of(several, DECAY, LR).steps == rates_of(wanted, DECAY, LR).steps


def test_without_any_decay_all_rates_are_zero():
    assert rates_of([3.0] * 60, DECAY, LR).steps == [0.0]


def test_a_schedule_that_is_stepped_once_an_epoch_ends_high():
    by_epoch = [rate for rate in schedule(150, 15)[:50] for _ in range(3)]
    assert Rates(by_epoch).end > 0.5


def test_a_schedule_that_begins_anew_rises_again():
    assert Rates(schedule(50, 5) * 3).rise > 0.9


def test_a_constant_rate_is_twice_as_much_on_average():
    assert Rates([1.0] * 50).mean == 1


def test_the_message_shows_eleven_of_the_rates():
    text = rates_text(Rates(schedule(50, 5)))
    assert text.startswith("0.00, 1.00, ")
    assert text.endswith("at 50 steps' tenths and end")
