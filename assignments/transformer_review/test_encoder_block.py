"""Milestone 2: what the encoder block is for this lesson's sizes."""

from grader.checks import built
from grader.checks.blocks import assert_block_count


def test_encoder_block_has_8416_parameters(student, draw):
    """For d_model 32, 4 heads and d_ff 64 a block has 8,416 parameters, more with biases."""
    block = built(student.EncoderBlock, d_model=32, n_heads=4, d_ff=64)
    assert_block_count(block, 1, 1, 32, 64, "The encoder block", draw)
