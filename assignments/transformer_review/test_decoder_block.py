"""Milestone 3: causal mask and decoder block. memory_key_padding_mask: True = ignore this key."""

import pytest
import torch

from grader.checks import (
    assert_close,
    assert_trainable,
    built,
    means,
    same_inputs,
    show,
    unless_inverted,
)
from grader.checks.blocks import (
    assert_block_count,
    assert_finite,
    assert_heads_matter,
    block_output,
    equal_features,
    mask_is_idle,
    random_block,
)
from grader.checks.known_block import assert_known_block
from grader.checks.layer import assert_gradients_everywhere
from grader.checks.raised import lengths_differ, raises_unlike
from grader.checks.repeated import unless_random
from grader.checks.tensors import kind_text, shape_text
from grader.errors import CheckFailure

SIZES = {"d_model": 8, "n_heads": 2, "d_ff": 12}


@pytest.mark.parametrize("size", [4, 1, 7])
def test_causal_mask_values(student, size):
    """causal_mask(T) is a lower triangle of bool: True = may attend."""
    returned = student.causal_mask(size)
    expected = torch.ones(size, size, dtype=torch.bool).tril()
    if not isinstance(returned, torch.Tensor) or returned.shape != expected.shape:
        raise CheckFailure(
            "The causal mask has the wrong form.",
            f"a bool tensor of shape {shape_text(expected.shape)}",
            kind_text(returned),
            f"causal_mask({size})",
        )
    got = returned == True if returned.dtype == torch.bool else returned == 1  # noqa: E712
    if not torch.equal(got, expected):
        misconception = None
        if torch.equal(got, ~expected):
            misconception = "mask-inverted"
        elif torch.equal(got, expected.tril(-1)) or torch.equal(got, expected.T.triu(1)):
            misconception = "decoder-causal-shifted"
        raise CheckFailure(
            "The causal mask is wrong. It means True = may attend: itself and what came before.",
            str(expected.int().tolist()),
            str(got.int().tolist()),
            f"causal_mask({size})",
            misconception,
        )
    if returned.dtype != torch.bool:
        raise CheckFailure(
            "The causal mask has the wrong dtype.", "torch.bool", str(returned.dtype),
            f"causal_mask({size})",
        )  # fmt: skip


@pytest.mark.parametrize(("d_model", "n_heads", "d_ff"), [(32, 4, 64), (16, 1, 8), (12, 6, 20)])
def test_decoder_parameter_count(student, draw, d_model, n_heads, d_ff):
    """For d_model 32, 4 heads and d_ff 64 a block has 12,576 parameters, more with biases."""
    block = built(student.DecoderBlock, d_model=d_model, n_heads=n_heads, d_ff=d_ff)
    assert_trainable(block)
    assert_block_count(block, 1, 2, d_model, d_ff, "The decoder block", draw)


@pytest.mark.parametrize(
    ("batch", "length", "memory_length"), [(2, 4, 6), (1, 5, 2), (3, 1, 4), (2, 3, 1), (1, 1, 1)]
)
def test_decoder_shapes(student, draw, batch, length, memory_length):
    """(B, T, D) goes in and comes out, whatever the length of the memory."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    x, memory = draw.normal(batch, length, 8), draw.normal(batch, length, 8)
    nothing = torch.zeros(batch, length, dtype=torch.bool)
    with raises_unlike("mask-required", lambda: block_output(block, x, memory, nothing)):
        output = block_output(block, x, memory)

    def causal():
        """Whether the first position is blind to the last one of a memory of the same length."""
        other = memory.clone()
        other[:, -1] += 1.0
        after = block_output(block, x, other)
        return length > 1 and torch.allclose(after[:, 0], output[:, 0], atol=1e-5)

    if memory_length != length:
        with lengths_differ(batch * length * 8, batch * memory_length * 8, causal):
            output = block_output(block, x, draw.normal(batch, memory_length, 8))
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("The output is not finite.", "finite values", show(output))


def test_decoder_known_weights(student, draw):
    """With the same weights, a block gives self-attention, cross-attention, FFN, each post-norm."""
    assert_known_block(student.DecoderBlock, draw, decoder=True)


def test_decoder_is_causal(student, draw, passed):
    """Changing the future changes nothing before it, at every position."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    x, memory = draw.normal(2, 5, 8), draw.normal(2, 4, 8)
    before = block_output(block, x, memory)
    for t in (3, 4, 2, 1):
        other = x.clone()
        other[:, t:] = draw.normal(2, 5 - t, 8)
        after = block_output(block, other, memory)
        what = f"The output at the first {t} of 5 positions, after the later ones were changed,"
        kind = "decoder-not-causal"
        if torch.allclose(after[:, : t - 1], before[:, : t - 1], atol=1e-4) and t > 1:
            kind = "decoder-causal-shifted"  # only the position just before the change sees it
        sound = passed("layer_known_weights")  # a layer that mixes positions leaks by itself
        name = kind if sound else None
        assert_close(after[:, :t], before[:, :t], what, atol=1e-4, misconception=name)


def test_decoder_sees_itself_and_the_past(student, draw):
    """A position sees itself in its self-attention, and every position before it."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    x, memory = draw.normal(1, 4, 8), draw.normal(1, 3, 8)
    before = block_output(block, x, memory)
    for s in range(3):
        other = x.clone()
        other[:, s] = draw.normal(8)
        after = block_output(block, other, memory)
        for t in range(s + 1, 4):
            if torch.allclose(after[:, t], before[:, t], atol=1e-5):
                raise CheckFailure(
                    f"Another token at position {s} changes nothing at position {t}.",
                    "another output: position t sees positions 0 to t",
                    "the same output",
                )


@pytest.mark.parametrize("memory_length", [1, 3, 6])
def test_decoder_reads_memory(student, draw, memory_length):
    """Every position reads all of the memory, whose order and length are free."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    x, memory = draw.normal(1, 4, 8), draw.normal(1, memory_length, 8)
    before = block_output(block, x, memory)
    for s in range(memory_length):
        other = memory.clone()
        other[:, s] = draw.normal(8)
        after = block_output(block, x, other)
        blind = [t for t in range(4) if torch.allclose(after[:, t], before[:, t], atol=1e-5)]
        if blind:
            every = len(blind) == 4
            raise CheckFailure(
                f"Another memory at position {s} changes nothing at position {blind[0]}.",
                "another output: cross-attention sees the whole memory",
                "the same output",
                misconception="cross-ignores-memory" if every else "decoder-cross-causal",
            )
    if memory_length > 1:
        order = draw.permutation(memory_length)
        after = block_output(block, x, memory[:, order])
        what = "The output for the memory in another order"
        kind = unless_random("decoder-cross-causal", lambda: block_output(block, x, memory))
        assert_close(after, before, what, atol=1e-4, misconception=kind)


def test_decoder_memory_padding(student, draw):
    """What stands at padded positions of the memory changes nothing."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    x, memory = draw.normal(2, 3, 8), draw.normal(2, 4, 8)
    mask = torch.tensor([[0, 1, 0, 1], [0, 0, 1, 1]]).bool()
    other = torch.where(mask[:, :, None], draw.normal(2, 4, 8, scale=5), memory)
    before = block_output(block, x, memory, mask)

    def hides(given):
        after, kept = block_output(block, x, other, given), block_output(block, x, memory, given)
        assert_close(
            after,
            kept,
            "The output under a padding mask, after padded memory was changed,",
            atol=1e-4,
        )

    with means("padding-mask-not-passed" if mask_is_idle(block, x, memory, mask) else None):
        unless_inverted(hides, mask)
    short = block_output(block, x[1:], memory[1:, :2])
    what = "The output for 2 positions of memory, beside the same with 2 padded ones after them,"
    assert_close(short, before[1:], what, atol=1e-4)
    nothing = block_output(block, x, memory, torch.zeros(2, 4, dtype=torch.bool))
    what = "The output for a padding mask that marks nothing, beside that without one,"
    with means("mask-inverted"):
        assert_close(nothing, block_output(block, x, memory, None), what, atol=1e-4)


def test_decoder_of_equal_features(student, draw):
    """A token whose features are all equal gives finite numbers: LayerNorm has an eps."""
    block = equal_features(student.DecoderBlock, draw)
    x = torch.tensor([[[0.0] * 8, [1.0] * 8, [-2.5] * 8]])
    assert_finite(block_output(block, x, torch.zeros(1, 2, 8)))


def test_decoder_heads_matter(student, draw):
    """With the same weights, 1 head and 4 heads give different outputs."""
    x, memory = draw.normal(2, 4, 16), draw.normal(2, 3, 16)
    sizes = {"d_model": 16, "d_ff": 12}
    define = student.DecoderBlock
    assert_heads_matter(define, draw, sizes, (4, 1), lambda block: block_output(block, x, memory))


def test_decoder_samples_are_independent(student, draw):
    """A sample gives the same output alone and in a batch."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    x, memory = draw.normal(3, 4, 8), draw.normal(3, 5, 8)
    kind = unless_random("batch-mixed", lambda: block_output(block, x, memory))
    together = block_output(block, x, memory)
    for b in range(3):
        one = slice(b, b + 1)
        what = f"The output of sample {b} in the batch, beside the same sample alone,"
        alone = block_output(block, x[one], memory[one])
        assert_close(together[one], alone, what, atol=1e-4, misconception=kind)


def test_decoder_leaves_inputs_unchanged(student, draw, passed):
    """The caller's x, memory and mask are as they were, and a second call gives the same."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    before = [draw.normal(2, 3, 8), draw.normal(2, 4, 8), torch.zeros(2, 4, dtype=torch.bool)]
    before[2][0, 3] = True
    result = block.call(*before, echo=True)
    same_inputs(result.inputs, before, ["x", "memory", "memory_key_padding_mask"])
    first, second = (block_output(block, *before) for _ in range(2))
    with means("dropout-in-eval" if passed("decoder_memory_padding") else None):
        assert_close(second, first, "The second output in eval mode")


def test_decoder_gradients(student, draw):
    """The output's gradient reaches every parameter."""
    block = random_block(student.DecoderBlock, draw, **SIZES)
    inputs = (draw.normal(2, 4, 8), draw.normal(2, 5, 8))
    assert_gradients_everywhere(block, inputs, draw.normal(2, 4, 8), 8, layers=2)
