"""Milestone 1: the sinusoidal positional encoding."""

import pytest
import torch

from grader.checks import assert_close, show
from grader.checks.positional import assert_encoding, encoding
from grader.errors import CheckFailure


def test_pe_shape(student):
    """The table is float32 of shape (max_len, d_model)."""
    for max_len, d_model in ((10, 8), (6, 2), (3, 64)):
        encoding(student.sinusoidal_positional_encoding, max_len, d_model)


def test_pe_lesson_figures(student):
    """Rows 0 to 3 for d_model 8 are the lesson's figures."""
    table = encoding(student.sinusoidal_positional_encoding, 10, 8)
    figures = [
        [0, 1, 0, 1],
        [0.8415, 0.5403, 0.0998, 0.9950],
        [0.9093, -0.4161, 0.1987, 0.9801],
        [0.1411, -0.9900, 0.2955, 0.9553],
    ]
    if not torch.allclose(table[:4, :4], torch.tensor(figures), atol=1e-4):
        assert_encoding(student.sinusoidal_positional_encoding, 10, 8)
    assert_close(table[:4, :4], torch.tensor(figures), "PE[:4, :4]", atol=1e-4)


@pytest.mark.parametrize(
    ("max_len", "d_model"), [(4, 4), (7, 2), (64, 16), (50, 32), (120, 64), (3, 512)]
)
def test_pe_values(student, max_len, d_model):
    """PE[pos, 2i] = sin(pos / 10000^(2i/d)) and PE[pos, 2i+1] = cos of the same, for any size."""
    assert_encoding(student.sinusoidal_positional_encoding, max_len, d_model)


def test_pe_far_positions(student):
    """It holds up to position 5,000."""
    assert_encoding(student.sinusoidal_positional_encoding, 5001, 4)


def test_pe_sines_and_cosines_alternate(student):
    """Position 0 is 0, 1, 0, 1, …: even columns are sines, odd ones cosines of the same angle."""
    for d_model in (2, 6, 16):
        table = encoding(student.sinusoidal_positional_encoding, 5, d_model)
        even, odd = table[:, 0::2], table[:, 1::2]
        first = torch.tensor([0.0, 1.0]).repeat(d_model // 2)
        swapped = torch.allclose(table[0], 1 - first, atol=1e-4)
        halves = torch.cat([torch.zeros(d_model // 2), torch.ones(d_model // 2)])
        ordered = torch.allclose(table[0], halves, atol=1e-4) and d_model > 2
        assert_close(
            table[0], first, "Position 0", atol=1e-4,
            misconception="pe-sin-cos-swapped" if swapped else "pe-halves" if ordered else None,
        )  # fmt: skip
        assert_close(even**2 + odd**2, torch.ones_like(even), "sin² + cos² of each pair", atol=1e-3)


def test_pe_shift_is_a_rotation(student):
    """PE[p+k] follows from PE[p] by a rotation that depends on k alone."""
    table = encoding(student.sinusoidal_positional_encoding, 40, 12)
    sin, cos = table[:, 0::2], table[:, 1::2]
    for k in (1, 7, 19):
        turned = torch.stack(
            [sin[:20] * cos[k] + cos[:20] * sin[k], cos[:20] * cos[k] - sin[:20] * sin[k]], dim=2
        ).flatten(1)
        what = f"PE[p + {k}], beside PE[p] rotated by PE[{k}],"
        assert_close(table[k : 20 + k], turned, what, atol=1e-3)


def test_pe_of_one_position(student):
    """max_len 1 gives one row: 0, 1, 0, 1, …"""
    table = encoding(student.sinusoidal_positional_encoding, 1, 6)
    assert_close(table, torch.tensor([[0.0, 1.0] * 3]), "The table for max_len 1", atol=1e-5)


def test_pe_does_not_depend_on_max_len(student):
    """A longer table begins with the shorter one."""
    short = encoding(student.sinusoidal_positional_encoding, 6, 10)
    long = encoding(student.sinusoidal_positional_encoding, 23, 10)
    assert_close(long[:6], short, "The first 6 of 23 positions, beside those of 6", atol=1e-5)


def test_pe_is_not_trained(student):
    """The table is fixed: it has no gradient, and is the same every time."""
    define = student.sinusoidal_positional_encoding
    result = define.call(5, 4, probe=torch.ones(5, 4))
    if result.input_gradients is not None:
        raise CheckFailure(
            "The table requires a gradient: it is a learned one.",
            "a tensor without requires_grad",
            "a tensor with requires_grad",
            "sinusoidal_positional_encoding(5, 4)",
            "pe-is-trained",
        )
    again = encoding(define, 5, 4)
    if not torch.equal(encoding(define, 5, 4), again):
        raise CheckFailure(
            "The second table is another one.", "the same table", show(again),
            misconception="pe-is-trained",
        )  # fmt: skip
