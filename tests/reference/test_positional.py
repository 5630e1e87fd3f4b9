"""The positional encoding against its closed formula."""

import math

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from reference import sinusoidal_positional_encoding

pairs = st.integers(1, 20)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(max_len=st.integers(1, 60), n_pairs=pairs)
def test_every_entry_is_the_closed_formula(max_len, n_pairs):
    d_model = 2 * n_pairs
    table = sinusoidal_positional_encoding(max_len, d_model)
    assert table.shape == (max_len, d_model)
    assert table.dtype == torch.float32
    for position in range(max_len):
        for i in range(n_pairs):
            angle = position / 10_000 ** (2 * i / d_model)
            assert table[position, 2 * i].item() == pytest.approx(math.sin(angle), abs=1e-6)
            assert table[position, 2 * i + 1].item() == pytest.approx(math.cos(angle), abs=1e-6)


def test_a_far_position_is_as_exact_as_a_near_one():
    last = sinusoidal_positional_encoding(5_001, 64)[5_000]
    angles = [5_000 / 10_000 ** (2 * i / 64) for i in range(32)]
    expected = [f(angle) for angle in angles for f in (math.sin, math.cos)]
    torch.testing.assert_close(last, torch.tensor(expected), rtol=0, atol=1e-6)


@settings(deadline=None, derandomize=True, max_examples=40)
@given(position=st.integers(0, 200), shift=st.integers(0, 100), n_pairs=pairs)
def test_a_shift_is_a_rotation_that_no_position_changes(position, shift, n_pairs):
    table = sinusoidal_positional_encoding(301, 2 * n_pairs).double()
    sin, cos = table[position, 0::2], table[position, 1::2]
    turn = shift / 10_000 ** (torch.arange(n_pairs, dtype=torch.float64) / n_pairs)
    shifted_sin = sin * turn.cos() + cos * turn.sin()
    shifted_cos = cos * turn.cos() - sin * turn.sin()
    torch.testing.assert_close(table[position + shift, 0::2], shifted_sin, rtol=0, atol=1e-6)
    torch.testing.assert_close(table[position + shift, 1::2], shifted_cos, rtol=0, atol=1e-6)


def test_a_longer_table_begins_with_the_shorter_one():
    shorter, longer = (sinusoidal_positional_encoding(n, 16) for n in (7, 50))
    assert torch.equal(longer[:7], shorter)


def test_an_odd_d_model_is_an_error():
    with pytest.raises(ValueError, match="d_model=7 is odd"):
        sinusoidal_positional_encoding(4, 7)
