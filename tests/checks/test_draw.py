"""Inputs are the same for every submission, and unforeseeable with a secret."""

import torch

from grader.checks import Draw


def test_the_same_check_draws_the_same():
    assert torch.equal(Draw("a", "c").normal(3), Draw("a", "c").normal(3))


def test_another_check_assignment_or_secret_draws_something_else():
    draws = [Draw("a", "c"), Draw("a", "d"), Draw("b", "c"), Draw("a", "c", "secret")]
    values = {tuple(draw.normal(3).tolist()) for draw in draws}
    assert len(values) == 4


def test_masks_leave_every_row_something_to_see_and_hide_something():
    for n in range(50):
        mask = Draw("a", str(n)).mask(2, 1, 3, 4)
        assert mask.any(-1).all()
        assert not mask.all()


def test_a_permutation_is_never_the_identity():
    for n in range(50):
        assert not torch.equal(Draw("a", str(n)).permutation(2), torch.arange(2))


def test_a_value_without_axes_can_be_drawn():
    draw = Draw("a", "b", "")
    assert draw.apart().shape == draw.normal().shape == ()
    assert 0.3 <= abs(float(draw.apart())) <= 1
