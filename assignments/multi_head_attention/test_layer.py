"""Milestone 4: the whole layer, with random parameters. In masks, True = may attend."""

import pytest
import torch

from grader.checks import (
    assert_close,
    assert_known_weights,
    assert_layer_gradients,
    assert_towards_quadratic,
    built,
    layer_answer,
    random_layer,
    same_inputs,
    show,
    unless_inverted,
)
from grader.checks.attention import need_weights
from grader.checks.known_layer import assert_heads_matter
from grader.checks.layer import layer_output
from grader.checks.raised import fails_unlike, lengths_differ, raises_unlike
from grader.checks.repeated import unless_random
from grader.errors import CheckFailure

LENGTHS = (32, 64, 128, 256)


@pytest.mark.parametrize(
    ("batch", "length", "d_model", "n_heads"), [(1, 6, 32, 4), (2, 1, 8, 1), (3, 5, 6, 6)]
)
def test_layer_shapes(student, draw, batch, length, d_model, n_heads):
    """(1, 6, 32) with 4 heads gives (1, 6, 32): the layer keeps the shape."""
    layer = random_layer(student.MultiHeadAttention, draw, d_model, n_heads)
    x = draw.normal(batch, length, d_model)

    def lesson():
        """The lesson's sizes, but as many samples and tokens."""
        given = draw.normal(batch, length, 32)
        return layer_output(
            built(student.MultiHeadAttention, d_model=32, n_heads=4), 4, *[given] * 3
        )

    with raises_unlike("hard-coded-figures", lesson):
        output = layer_output(layer, n_heads, x, x, x)
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure("The output is not finite.", "finite values", str(output.flatten()[:4]))


@pytest.mark.parametrize(("length", "n_heads"), [(6, 4), (1, 2), (3, 8)])
def test_layer_weights(student, draw, length, n_heads):
    """The weights of every head come back, (1, 4, 6, 6) for the lesson's sizes, and are right."""
    layer = random_layer(student.MultiHeadAttention, draw, 32, n_heads)
    x = draw.normal(1, length, 32)
    shape = (1, n_heads, length, length)
    weights = need_weights(layer_answer(layer, n_heads, x, x, x), shape)
    assert_close(weights.sum(-1), torch.ones(shape[:-1]), "The sum of each row of weights")
    if length == 6:
        assert_known_weights(student.MultiHeadAttention, draw, 6, 2, weights=True)


@pytest.mark.parametrize(("d_model", "n_heads"), [(6, 2), (6, 3)])
def test_layer_known_weights(student, draw, d_model, n_heads):
    """With the same projection weights, the output is the reference's."""
    assert_known_weights(student.MultiHeadAttention, draw, d_model, n_heads)


@pytest.mark.parametrize(("t_q", "t_k"), [(3, 5), (5, 3), (1, 4), (4, 1)])
def test_cross_attention(student, draw, t_q, t_k):
    """Queries of another length than keys and values: it runs, and it reads keys and values."""
    layer = random_layer(student.MultiHeadAttention, draw, 8, 2)
    query, key, value = draw.normal(2, t_q, 8), draw.normal(2, t_k, 8), draw.normal(2, t_k, 8)
    with lengths_differ(2 * t_q * 8, 2 * t_k * 8):
        before = layer_output(layer, 2, query, key, value)
    order = draw.permutation(t_k) if t_k > 1 else torch.arange(1)
    after = layer_output(layer, 2, query, key[:, order], value[:, order])
    assert_close(after, before, "The output after keys and values were reordered together")
    other_values = layer_output(layer, 2, query, key, draw.normal(2, t_k, 8))
    other_keys = layer_output(layer, 2, query, draw.normal(2, t_k, 8), value)
    keys_are_read = not torch.allclose(other_keys, before, atol=1e-5)
    if torch.allclose(other_values, before, atol=1e-5):
        unread = "values-are-keys" if keys_are_read else "cross-ignores-memory"
        raise CheckFailure(
            "Other values give the same output: the layer does not read them.",
            "another output",
            "the same output",
            misconception=unread if t_k > 1 else None,
        )
    if t_k > 1 and t_q > 1 and not keys_are_read:
        raise CheckFailure(
            "Other keys give the same output: the layer does not read them.",
            "another output",
            "the same output",
            misconception="cross-ignores-memory",
        )


def test_layer_permutation(student, draw):
    """Tokens in another order give the outputs in that order."""
    layer = random_layer(student.MultiHeadAttention, draw, 8, 2)
    x = draw.normal(2, 5, 8)
    order = draw.permutation(5)
    before = layer_output(layer, 2, x, x, x)
    moved = x[:, order]
    after = layer_output(layer, 2, moved, moved, moved)
    assert_close(after, before[:, order], "The output for reordered tokens", atol=1e-4)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int64])
def test_layer_causal_mask(student, draw, dtype):
    """Under a causal mask, changing the future changes nothing before it."""
    layer = random_layer(student.MultiHeadAttention, draw, 8, 2)
    x = draw.normal(2, 4, 8)
    others = [x]
    for t in range(1, 4):
        others.append(torch.cat([x[:, :t], draw.normal(2, 4 - t, 8)], dim=1))

    def hides(mask):
        before, *outputs = [layer_output(layer, 2, other, other, other, mask) for other in others]
        for t, after in enumerate(outputs, start=1):
            what = f"The output at the first {t} of 4 positions, after the others were changed,"
            assert_close(after[:, :t], before[:, :t], what, atol=1e-4)
            if torch.allclose(after[:, t:], before[:, t:], atol=1e-5):
                raise CheckFailure("The output does not depend on the tokens that may be seen.")

    mask = torch.ones(4, 4).tril().to(dtype)
    with fails_unlike("mask-shape", lambda: hides(mask.view(1, 1, 4, 4))):
        unless_inverted(hides, mask)


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int64])
@pytest.mark.parametrize("per_query", [False, True])
def test_layer_padding_mask(student, draw, per_query, dtype):
    """Masks of shape (B, 1, 1, T) and (B, 1, T, T) hide keys, whatever stands there."""
    layer = random_layer(student.MultiHeadAttention, draw, 8, 2)
    x = draw.normal(2, 4, 8)
    mask = torch.tensor([[1, 1, 0, 1], [1, 1, 1, 0]]).bool().view(2, 1, 1, 4)
    if per_query:
        mask = mask.expand(2, 1, 4, 4).clone()
    mask = mask.to(dtype)
    other = x.clone()
    other[0, 2], other[1, 3] = draw.normal(8, scale=3), draw.normal(8, scale=3)

    def hides(mask):
        before = layer_output(layer, 2, x, x, x, mask)
        after = layer_output(layer, 2, x, other, other, mask)
        assert_close(after, before, "The output after hidden keys were changed", atol=1e-4)

    unless_inverted(hides, mask)
    seen, masked = layer_output(layer, 2, x, other, other), layer_output(layer, 2, x, x, x, mask)
    if torch.allclose(seen, masked, atol=1e-5):
        raise CheckFailure("Without the mask the output is the same: keys are not read.")


def test_number_of_heads_matters(student, draw):
    """With the same projections, 1 head and 4 heads give different outputs."""
    assert_heads_matter(student.MultiHeadAttention, draw)


@pytest.mark.parametrize("n_heads", [1, 2])
def test_samples_are_independent(student, draw, n_heads):
    """A sample gives the same output alone and in a batch."""
    layer = random_layer(student.MultiHeadAttention, draw, 8, n_heads)
    query, key, value = draw.normal(3, 2, 8), draw.normal(3, 4, 8), draw.normal(3, 4, 8)
    kind = unless_random("batch-mixed", lambda: layer_output(layer, n_heads, query, key, value))
    together = layer_output(layer, n_heads, query, key, value)
    for b in range(3):
        one = slice(b, b + 1)
        alone = layer_output(layer, n_heads, query[one], key[one], value[one])
        what = f"The output of sample {b} in the batch, beside the same sample alone,"
        assert_close(together[one], alone, what, atol=1e-4, misconception=kind)


def test_layer_is_deterministic_in_eval(student, draw):
    """In eval mode the same input gives the same output again."""
    layer = random_layer(student.MultiHeadAttention, draw, 32, 4)
    x = draw.normal(2, 6, 32)
    first = layer_output(layer, 4, x, x, x)
    second = layer_output(layer, 4, x, x, x)
    if not torch.allclose(first, second, rtol=1e-4, atol=1e-5):
        count = sum(parameter.value.numel() for parameter in layer.parameters().values())
        fresh = "layers-created-in-forward" if count < 4 * 32**2 else "dropout-in-eval"
        raise CheckFailure(
            "The second answer to the same input is another one.",
            show(first),
            show(second),
            misconception=fresh,
        )


def test_layer_leaves_inputs_unchanged(student, draw):
    """The caller's query, key, value and mask are as they were."""
    layer = random_layer(student.MultiHeadAttention, draw, 8, 2)
    query, key, value = draw.normal(2, 3, 8), draw.normal(2, 3, 8), draw.normal(2, 3, 8)
    for mask in (None, draw.mask(3, 3), draw.mask(2, 1, 1, 3).float()):
        before = [query, key, value, mask]
        result = layer.call(*before, echo=True)
        same_inputs(result.inputs, before, ["query", "key", "value", "mask"])


def test_gradients_reach_every_parameter(student, draw):
    """The output's gradient reaches every parameter."""
    layer = random_layer(student.MultiHeadAttention, draw, 8, 2)
    assert_layer_gradients(layer, draw, 8)


def test_layer_cost_grows_towards_quadratic(student, draw):
    """The whole layer costs between 2× and 4× when the sequence doubles, growing towards 4×."""
    layer = random_layer(student.MultiHeadAttention, draw, 32, 4)
    counts = {}
    for n in LENGTHS:
        x = draw.normal(1, n, 32)
        counts[n] = layer.call(x, x, x, count=True).operations
    assert_towards_quadratic(counts, "the layer")
