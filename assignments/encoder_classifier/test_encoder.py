"""Milestone 2: padding mask, encoder block and stack. key_padding_mask: True = ignore this key."""

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
from grader.checks.raised import raises_unlike
from grader.checks.repeated import unless_random
from grader.checks.stack import assert_known_stack
from grader.checks.tensors import kind_text, shape_text
from grader.errors import CheckFailure

BLOCK = {"d_model": 8, "n_heads": 2, "d_ff": 12}


def padded(*rows):
    """A key_padding_mask (B, T): 1 = ignore this key."""
    return torch.tensor(rows, dtype=torch.bool)


# padding mask


@pytest.mark.parametrize(
    ("ids", "pad_id"),
    [
        ([[5, 2, 7, 0], [3, 0, 0, 0]], 0),
        ([[0, 4, 0, 9, 4]], 4),
        ([[1], [2]], 1),
        ([[3, 3, 0], [1, 2, 2]], 9),
    ],
)
def test_padding_mask_values(student, ids, pad_id):
    """padding_mask is True exactly where the id is pad_id, wherever that stands."""
    ids = torch.tensor(ids)
    returned = student.padding_mask(ids, pad_id)
    expected = ids == pad_id
    if not isinstance(returned, torch.Tensor) or returned.shape != expected.shape:
        raise CheckFailure(
            "The padding mask has the wrong form.",
            f"a bool tensor of shape {shape_text(ids.shape)}",
            kind_text(returned),
            f"input_ids = torch.tensor({ids.tolist()}), pad_id = {pad_id}",
        )
    got = returned != 0
    if not torch.equal(got, expected):
        misconception = None
        lengths = (~expected).sum(1, keepdim=True)
        if torch.equal(got, ~expected):
            misconception = "mask-inverted"
        elif torch.equal(got, torch.arange(ids.shape[1]) >= lengths):
            misconception = "mask-by-position"
        elif torch.equal(got, ids == 0):
            misconception = "argument-ignored"
        raise CheckFailure(
            "The padding mask is wrong. It means True = padding, to be ignored.",
            str(expected.tolist()),
            str(got.tolist()),
            f"input_ids = torch.tensor({ids.tolist()}), pad_id = {pad_id}",
            misconception,
        )


def test_padding_mask_is_bool(student):
    """padding_mask gives a bool tensor, which PyTorch's attention takes as it is."""
    returned = student.padding_mask(torch.tensor([[2, 0], [1, 3]]), 0)
    dtype = returned.dtype if isinstance(returned, torch.Tensor) else kind_text(returned)
    if dtype != torch.bool:
        raise CheckFailure("The padding mask has the wrong dtype.", "torch.bool", str(dtype))


# block


@pytest.mark.parametrize(
    ("d_model", "n_heads", "d_ff"), [(64, 8, 256), (32, 4, 64), (16, 1, 8), (6, 6, 10)]
)
def test_block_parameter_count(student, draw, d_model, n_heads, d_ff):
    """A block has the parameters of its attention, feed-forward network and two LayerNorms."""
    block = built(student.EncoderBlock, d_model=d_model, n_heads=n_heads, d_ff=d_ff)
    assert_trainable(block)
    assert_block_count(block, 1, 1, d_model, d_ff, "The block", draw)


@pytest.mark.parametrize(
    ("batch", "length", "d_model", "n_heads"), [(1, 6, 32, 4), (2, 1, 8, 1), (3, 5, 6, 6)]
)
def test_block_shapes(student, draw, batch, length, d_model, n_heads):
    """A block keeps the shape (B, T, D)."""
    block = random_block(student.EncoderBlock, draw, d_model=d_model, n_heads=n_heads, d_ff=12)
    x = draw.normal(batch, length, d_model)
    nothing = torch.zeros(batch, length, dtype=torch.bool)
    with raises_unlike("mask-required", lambda: block_output(block, x, nothing)):
        output = block_output(block, x)
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("The output is not finite.", "finite values", show(output))


def test_block_known_weights(student, draw):
    """With the same weights, a block gives LayerNorm(x + sublayer(x)) twice over (post-norm)."""
    assert_known_block(student.EncoderBlock, draw)


def test_block_is_bidirectional(student, draw):
    """A later token changes what comes out at an earlier position, and the other way round."""
    block = random_block(student.EncoderBlock, draw, **BLOCK)
    x = draw.normal(1, 4, 8)
    before = block_output(block, x)
    blind = []
    for changed, seen in ((3, 0), (0, 3)):
        other = x.clone()
        other[:, changed] = draw.normal(8)
        after = block_output(block, other)
        if torch.allclose(after[:, seen], before[:, seen], atol=1e-5):
            blind.append((changed, seen))
    if blind:
        changed, seen = blind[0]
        raise CheckFailure(
            f"Another token at position {changed} changes nothing at position {seen}.",
            "another output: every position of an encoder sees every other",
            "the same output",
            misconception="encoder-causal" if blind == [(3, 0)] else None,
        )


def test_block_permutation(student, draw):
    """Without positions, tokens in another order give the outputs in that order."""
    block = random_block(student.EncoderBlock, draw, **BLOCK)
    x, order = draw.normal(2, 5, 8), draw.permutation(5)
    before, after = block_output(block, x), block_output(block, x[:, order])
    assert_close(after, before[:, order], "The output for reordered tokens", atol=1e-4)


@pytest.mark.parametrize(
    "mask",
    [padded([0, 0, 0, 1], [0, 0, 1, 1]), padded([0, 1, 0, 0], [1, 0, 1, 0])],
    ids=["at the end", "anywhere"],
)
def test_block_ignores_padded_keys(student, draw, mask):
    """What stands at padded positions, wherever they are, changes nothing at the others."""
    block = random_block(student.EncoderBlock, draw, **BLOCK)
    x = draw.normal(2, 4, 8)
    other = torch.where(mask[:, :, None], draw.normal(2, 4, 8, scale=5), x)
    before = block_output(block, x, mask)

    def hides(given):
        after, kept = block_output(block, other, given), block_output(block, x, given)[~mask]
        assert_close(
            after[~mask],
            kept,
            "The output under a padding mask, after padded tokens were changed,",
            atol=1e-4,
        )

    with means("padding-mask-not-passed" if mask_is_idle(block, x, mask) else None):
        unless_inverted(hides, mask)
    seen = torch.where(mask[:, :, None], x, draw.normal(2, 4, 8))
    if torch.allclose(block_output(block, seen, mask)[~mask], before[~mask], atol=1e-5):
        raise CheckFailure("The output does not depend on the tokens that are not padded.")


def test_block_without_padding(student, draw):
    """A key_padding_mask that marks nothing changes nothing, and it may be left out."""
    block = random_block(student.EncoderBlock, draw, **BLOCK)
    x = draw.normal(2, 4, 8)
    with means("mask-required", raised_only=True):
        none = block_output(block, x, None)
        omitted = block_output(block, x, omit_none=True)
    assert_close(omitted, none, "The output without a mask, beside key_padding_mask=None,")
    nothing = block_output(block, x, torch.zeros(2, 4, dtype=torch.bool))
    with means("mask-inverted"):
        what = "The output for a padding mask that marks nothing, beside that without one,"
        assert_close(nothing, none, what, atol=1e-4)


def test_block_samples_are_independent(student, draw, passed):
    """A sample gives the same output alone and in a batch, with padding of its own."""
    block = random_block(student.EncoderBlock, draw, **BLOCK)
    x, mask = draw.normal(3, 4, 8), padded([0, 0, 0, 0], [0, 0, 0, 1], [0, 1, 1, 0])
    told = unless_random("batch-mixed", lambda: block_output(block, x))
    for given in (None, mask):
        together = block_output(block, x, given)
        finite = bool(torch.isfinite(together).all())  # NaN differs from itself
        for b in range(3):
            one = slice(b, b + 1)
            alone = block_output(block, x[one], None if given is None else given[one])
            kept = slice(None) if given is None else ~mask[b]
            what = f"The output of sample {b} in the batch, beside the same sample alone,"
            mixed = given is None or passed("block_without_padding")
            kind = told if mixed and finite else None
            assert_close(together[b][kept], alone[0][kept], what, atol=1e-4, misconception=kind)


def test_block_of_equal_features(student, draw):
    """A token whose features are all equal gives finite numbers: LayerNorm has an eps."""
    block = equal_features(student.EncoderBlock, draw)
    assert_finite(block_output(block, torch.tensor([[[0.0] * 8, [1.0] * 8, [-2.5] * 8]])))


def test_block_heads_matter(student, draw):
    """With the same weights, 1 head and 4 heads give different outputs."""
    x = draw.normal(2, 5, 16)
    sizes = {"d_model": 16, "d_ff": 12}
    define = student.EncoderBlock
    assert_heads_matter(define, draw, sizes, (4, 1), lambda block: block_output(block, x))


def test_block_dropout(student, draw):
    """Dropout acts in train mode and not in eval mode."""
    block = random_block(student.EncoderBlock, draw, **BLOCK, dropout=0.5)
    x = draw.normal(2, 4, 8)
    with means("dropout-in-eval"):
        assert_close(block_output(block, x), block_output(block, x), "The second output in eval")
    block.train()
    if torch.allclose(block_output(block, x), block_output(block, x), atol=1e-5):
        raise CheckFailure(
            "In train mode with dropout=0.5, the same input gives the same output twice.",
            "different outputs",
            "the same output",
            "EncoderBlock(8, 2, 12, dropout=0.5)",
            "argument-ignored",
        )


def test_block_leaves_inputs_unchanged(student, draw):
    """The caller's x and key_padding_mask are as they were."""
    block = random_block(student.EncoderBlock, draw, **BLOCK)
    before = [draw.normal(2, 4, 8), padded([0, 0, 0, 1], [0, 0, 1, 1])]
    result = block.call(*before, echo=True)
    same_inputs(result.inputs, before, ["x", "key_padding_mask"])


def test_block_gradients(student, draw):
    """The output's gradient reaches every parameter of a block."""
    block = random_block(student.EncoderBlock, draw, **BLOCK)
    assert_gradients_everywhere(block, (draw.normal(2, 4, 8),), draw.normal(2, 4, 8), 8)


# stack


@pytest.mark.parametrize("n_layers", [1, 2, 6])
def test_stack_keeps_the_shape(student, draw, n_layers):
    """(2, 4, 16) goes in and comes out, through 1, 2 and 6 layers."""
    stack = random_block(
        student.TransformerEncoder, draw, n_layers=n_layers, d_model=16, n_heads=4, d_ff=32
    )
    output = block_output(stack, draw.normal(2, 4, 16))
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("The output is not finite.", "finite values", show(output))


@pytest.mark.parametrize("n_layers", [1, 2, 6])
def test_stack_parameter_count(student, n_layers):
    """N layers have N times the parameters of a block, and nothing else."""
    stack = built(student.TransformerEncoder, n_layers=n_layers, d_model=16, n_heads=4, d_ff=32)
    assert_block_count(stack, n_layers, 1, 16, 32, f"The stack of {n_layers}")


def test_stack_known_weights(student, draw):
    """With the same weights, two layers give what one block after the other gives."""
    assert_known_stack(student.TransformerEncoder, draw)


def test_stack_heads_matter(student, draw):
    """The stack hands n_heads on: 1 head and 4 heads give different outputs."""
    x = draw.normal(2, 5, 16)
    sizes = {"n_layers": 2, "d_model": 16, "d_ff": 12}
    define = student.TransformerEncoder
    assert_heads_matter(define, draw, sizes, (4, 1), lambda stack: block_output(stack, x))


def test_stack_ignores_padded_keys(student, draw, passed):
    """Every layer of the stack ignores padded keys."""
    stack = random_block(student.TransformerEncoder, draw, n_layers=3, **BLOCK)
    x, mask = draw.normal(2, 5, 8), padded([0, 0, 0, 1, 1], [0, 1, 0, 0, 1])
    other = torch.where(mask[:, :, None], draw.normal(2, 5, 8, scale=5), x)
    before = block_output(stack, x, mask)

    def hides(given):
        what = "The output under a padding mask, after padded tokens were changed,"
        after, kept = block_output(stack, other, given), block_output(stack, x, given)[~mask]
        assert_close(after[~mask], kept, what, atol=1e-4)

    not_passed = passed("block_ignores_padded_keys") or mask_is_idle(stack, x, mask)
    with means("padding-mask-not-passed" if not_passed else None):
        unless_inverted(hides, mask)
    short = block_output(stack, x[:1, :3], None)
    what = "The output for 3 tokens, beside the same 3 with 2 padded ones after them,"
    assert_close(short, before[:1, :3], what, atol=1e-4)


def test_stack_permutation(student, draw):
    """Without positions, the whole stack is permutation-equivariant."""
    stack = random_block(student.TransformerEncoder, draw, n_layers=2, **BLOCK)
    x, order = draw.normal(2, 5, 8), draw.permutation(5)
    before, after = block_output(stack, x), block_output(stack, x[:, order])
    assert_close(after, before[:, order], "The output for reordered tokens", atol=1e-4)


def test_stack_gradients(student, draw):
    """The output's gradient reaches every parameter of every layer."""
    stack = random_block(student.TransformerEncoder, draw, n_layers=3, **BLOCK)
    assert_gradients_everywhere(stack, (draw.normal(2, 4, 8),), draw.normal(2, 4, 8), 8, layers=3)
