"""Milestone 3: scaled dot-product attention. In masks, True = may attend."""

import pytest
import torch

from grader.checks import (
    assert_attention,
    assert_close,
    assert_in_any_dimensions,
    assert_mask,
    assert_quadratic,
    assert_weights,
    means,
    same_inputs,
    unless_inverted,
)
from grader.checks.attention import (
    assert_function_gradients,
    attention_answer,
    need_output,
)
from grader.checks.raised import fails_unlike, raises_unlike
from grader.errors import CheckFailure

ONE = (1, 1)  # a batch of one and a single head: what works for these only is right so far


def causal(length):
    """The lower triangle: position t may attend to positions up to t."""
    return torch.ones(length, length, dtype=torch.bool).tril()


def assert_repeats(attend):
    """See that the same input gives the same output again."""
    x = torch.ones(*ONE, 40, 2)
    first, second = (
        need_output(attention_answer(attend(x, x, x), x.shape, ()), x.shape) for _ in range(2)
    )
    assert_close(second, first, "The second output")


@pytest.mark.parametrize(
    ("t_q", "t_k", "d_k", "d_v"),
    [(2, 3, 5, 2), (1, 2, 5, 3), (5, 7, 6, 3), (50, 50, 4, 3), (3, 300, 4, 2)],
)
def test_attention_values(student, draw, t_q, t_k, d_k, d_v):
    """The output is softmax(QKᵀ/√d_k)V."""
    query, key = draw.normal(*ONE, t_q, d_k), draw.normal(*ONE, t_k, d_k)
    value = draw.normal(*ONE, t_k, d_v)
    assert_attention(student.scaled_dot_product_attention, query, key, value)


def test_lesson_trace(student):
    """The lesson's trace with seed 42 comes out to the figure."""
    random = torch.Generator().manual_seed(42)
    query, key, value = (torch.randn(4, 8, generator=random)[None, None] for _ in range(3))
    attend = student.scaled_dot_product_attention
    output = assert_attention(attend, query, key, value)[0, 0]
    row = [0.2667, 0.2371, -0.0554, 0.1298, 0.3541, -0.1906, -0.6448, -0.0085]
    assert_close(output[0], torch.tensor(row), "Row 0 of the trace's output", atol=6e-5)
    answer = attention_answer(attend(query, key, value), (*ONE, 4, 8), (*ONE, 4, 4))
    if answer.weights is not None:
        weights = torch.tensor([0.1942, 0.4102, 0.3242, 0.0714])
        assert_close(answer.weights[0, 0, 0], weights, "Row 0 of the trace's softmax", atol=6e-5)


@pytest.mark.parametrize("leading", [(), (2,), (2, 3)])
def test_attention_in_any_dimensions(student, draw, leading):
    """It works for 2, 3 and 4 dimensions, with T_q ≠ T_k and d_v ≠ d_k."""
    query = draw.normal(*leading, 3, 4)
    key, value = draw.normal(*leading, 5, 4), draw.normal(*leading, 5, 6)
    assert_in_any_dimensions(student.scaled_dot_product_attention, query, key, value)


@pytest.mark.parametrize("d_k", [64, 1, 4, 16, 10])
def test_scale_is_root_of_d_k(student, draw, d_k):
    """The scores are divided by √d_k, whatever d_k is: by 8 for d_k = 64."""
    query, key = draw.normal(*ONE, 2, d_k), draw.normal(*ONE, 3, d_k)
    value = draw.normal(*ONE, 3, 2)
    assert_attention(student.scaled_dot_product_attention, query, key, value)


@pytest.mark.parametrize("leading", [ONE, (2, 3)])
def test_rows_of_weights_sum_to_one(student, draw, leading):
    """The weights come back, and for each query they sum to 1 over the keys."""
    query, key = draw.normal(*leading, 3, 4), draw.normal(*leading, 5, 4)
    value = draw.normal(*leading, 5, 6)
    assert_weights(student.scaled_dot_product_attention, query, key, value)


@pytest.mark.parametrize(("length", "size"), [(2, 1.0), (5, 1.0), (4, None), (3, 0.0)])
def test_causal_mask_hides_the_future(student, draw, length, size):
    """Under a causal mask the output is that of the visible positions alone."""
    scale = 1.0 if size is None else size
    query, key = (draw.normal(*ONE, length, 2, scale=scale) for _ in range(2))
    value = draw.normal(*ONE, length, 1)
    if size is None:
        key[..., 1, :] = 0.0  # its scores are 0, and yet it may be seen
    attend, mask = student.scaled_dot_product_attention, causal(length)

    def with_mask_of(*shape):
        assert_repeats(attend)
        return assert_mask(attend, query, key, value, mask.view(shape))

    with (
        fails_unlike("mask-shape", lambda: with_mask_of(1, length, length)),
        fails_unlike("mask-shape", lambda: with_mask_of(1, 1, length, length)),
        raises_unlike("mask-dtype", lambda: attend(query, key, value, mask.float())),
    ):
        assert_mask(attend, query, key, value, mask)


def test_weights_under_a_mask(student, draw):
    """Under a causal mask the weights above the diagonal are exactly 0, the rest sums to 1."""
    query, key = draw.normal(2, 1, 4, 3), draw.normal(2, 1, 4, 3)
    value = draw.normal(2, 1, 4, 5)
    assert_weights(student.scaled_dot_product_attention, query, key, value, causal(4))


@pytest.mark.parametrize("dtype", [torch.bool, torch.float32, torch.int64])
def test_masks_of_any_dtype(student, draw, dtype):
    """A mask may be bool, or 0/1 of an integer or floating type."""
    query, key = draw.normal(*ONE, 3, 4), draw.normal(*ONE, 3, 4)
    value = draw.normal(*ONE, 3, 2)
    mask = causal(3).to(dtype)
    with means("mask-dtype"):
        assert_mask(student.scaled_dot_product_attention, query, key, value, mask)


@pytest.mark.parametrize(
    ("t_q", "t_k", "shape"),
    [
        (3, 3, (3, 3)),
        (2, 4, (2, 4)),
        (3, 4, (2, 1, 1, 4)),
        (3, 4, (2, 1, 3, 4)),
        (3, 3, (2, 1, 3, 3)),
        (1, 4, (2, 1, 1, 4)),
    ],
)
def test_masks_of_any_shape(student, draw, t_q, t_k, shape):
    """A mask may be (T_q, T_k), (B, 1, 1, T_k) or (B, 1, T_q, T_k). Gradients stay finite."""
    query = draw.normal(2, 3, t_q, 4)
    key, value = draw.normal(2, 3, t_k, 4), draw.normal(2, 3, t_k, 5)
    attend, mask = student.scaled_dot_product_attention, draw.mask(*shape)
    with means("mask-shape", raised_only=True):
        assert_mask(attend, query, key, value, mask)
    probe = draw.normal(2, 3, t_q, 5)
    gradients = attend.call(query, key, value, mask, probe=probe, gradients_of=(0, 1, 2))
    for name, gradient in zip(
        ("query", "key", "value"), gradients.input_gradients or [], strict=False
    ):
        if gradient is not None and not bool(torch.isfinite(gradient).all()):
            raise CheckFailure(f"The gradient of {name} is not finite under a mask.")


def test_mask_is_optional(student, draw):
    """Without a mask, and with mask=None, every key may be seen."""
    query, key = draw.normal(*ONE, 2, 3), draw.normal(*ONE, 4, 3)
    value = draw.normal(*ONE, 4, 2)
    attend = student.scaled_dot_product_attention
    shapes = ((*ONE, 2, 2), (*ONE, 2, 4))

    def with_mask(mask):
        return need_output(attention_answer(attend(query, key, value, mask), *shapes), shapes[0])

    allowed = torch.ones(2, 4, dtype=torch.bool)
    with_mask(allowed)  # what raises here is no missing default
    with means("mask-required", raised_only=True):
        none = attend(query, key, value, None)
        omitted = attend.call(query, key, value, omit_none=True).returned

    def allows_all(mask):
        expected = with_mask(mask)
        if torch.isfinite(expected).all():  # with everything allowed, a mask hides nothing
            output = need_output(attention_answer(none, *shapes), shapes[0])
            what = "The output for mask=None, beside a mask that allows all,"
            assert_close(output, expected, what)

    unless_inverted(allows_all, allowed)
    output = need_output(attention_answer(omitted, *shapes), shapes[0])
    none = need_output(attention_answer(none, *shapes), shapes[0])
    assert_close(output, none, "The output without a mask, beside mask=None,")


def test_hidden_keys_have_no_influence(student, draw):
    """What stands at a hidden key, and its value, changes nothing."""
    query, key, value = draw.normal(1, 2, 3, 4), draw.normal(1, 2, 5, 4), draw.normal(1, 2, 5, 3)
    mask = torch.tensor([True, False, True, True, False]).view(1, 1, 1, 5)
    attend = student.scaled_dot_product_attention
    shapes = ((1, 2, 3, 3), (1, 2, 3, 5))
    other_key, other_value = key.clone(), value.clone()
    other_key[:, :, [1, 4]] = draw.normal(1, 2, 2, 4, scale=5)
    other_value[:, :, [1, 4]] = draw.normal(1, 2, 2, 3, scale=50)

    def hides(mask):
        before, after = (
            need_output(attention_answer(attend(query, *seen, mask), *shapes), shapes[0])
            for seen in ((key, value), (other_key, other_value))
        )
        assert_close(after, before, "The output after other content was put at hidden keys")

    unless_inverted(hides, mask)


def test_keys_are_a_set(student, draw):
    """Keys and values in another order, together, give the same output."""
    query, key = draw.normal(2, 1, 3, 4), draw.normal(2, 1, 5, 4)
    value = draw.normal(2, 1, 5, 3)
    attend = student.scaled_dot_product_attention
    shapes = ((2, 1, 3, 3), (2, 1, 3, 5))
    before = need_output(attention_answer(attend(query, key, value), *shapes), shapes[0])
    order = draw.permutation(5)
    returned = attend(query, key[..., order, :], value[..., order, :])
    after = need_output(attention_answer(returned, *shapes), shapes[0])
    assert_close(after, before, "The output after keys and values were reordered together")


def test_queries_are_independent(student, draw):
    """Queries in another order give outputs in that order, and one query alone gives its own."""
    query, key = draw.normal(2, 1, 4, 3), draw.normal(2, 1, 5, 3)
    value = draw.normal(2, 1, 5, 2)
    attend = student.scaled_dot_product_attention

    def output(asked):
        shapes = ((2, 1, asked.shape[2], 2), (2, 1, asked.shape[2], 5))
        return need_output(attention_answer(attend(asked, key, value), *shapes), shapes[0])

    before = output(query)
    order = draw.permutation(4)
    reordered = output(query[..., order, :])
    assert_close(reordered, before[..., order, :], "The output for reordered queries")
    alone = output(query[..., :1, :])
    assert_close(alone, before[..., :1, :], "The output for the first query alone")


def test_degenerate_inputs(student, draw):
    """All tokens equal: the mean of the values. A single key: its value."""
    attend = student.scaled_dot_product_attention

    def output(query, key, value):
        shapes = ((*query.shape[:-1], value.shape[-1]), (*query.shape[:-1], key.shape[-2]))
        return need_output(attention_answer(attend(query, key, value), *shapes), shapes[0])

    token, value = draw.normal(*ONE, 1, 4), draw.normal(*ONE, 3, 2)
    same = output(token.expand(*ONE, 2, 4), token.expand(*ONE, 3, 4), value)
    mean = value.mean(-2, keepdim=True).expand(*ONE, 2, 2)
    assert_close(same, mean, "The output when all tokens are equal")
    one = draw.normal(2, 1, 1, 3)
    single = output(draw.normal(2, 1, 3, 4), draw.normal(2, 1, 1, 4), one)
    assert_close(single, one.expand(2, 1, 3, 3), "The output for a single key")
    least = draw.normal(*ONE, 1, 2)
    query, key = draw.normal(*ONE, 1, 1), draw.normal(*ONE, 1, 1)
    assert_close(output(query, key, least), least, "The least output")


def test_large_scores_stay_finite(student, draw):
    """Scores of size 10,000 give finite weights: the largest takes all."""
    query, key = (draw.normal(*ONE, length, 4, scale=100) for length in (3, 5))
    value = draw.normal(*ONE, 5, 2)
    scores = query @ key.mT
    query = query * (2e4 / scores.abs().max())
    attend = student.scaled_dot_product_attention
    assert_attention(attend, query, key, value, what="The output for scores of size 10,000")


def test_attention_leaves_inputs_unchanged(student, draw):
    """The caller's query, key, value and mask are as they were."""
    query, key, value = draw.normal(2, 2, 3, 4), draw.normal(2, 2, 3, 4), draw.normal(2, 2, 3, 4)
    attend = student.scaled_dot_product_attention
    for mask in (None, causal(3), causal(3).float()):
        before = [query, key, value, mask]
        result = attend.call(*before, echo=True)
        same_inputs(result.inputs, before, ["query", "key", "value", "mask"])


def test_attention_gradients(student, draw):
    """Gradients reach query, key and value, and are the right ones."""
    query, key = draw.normal(2, 1, 3, 4), draw.normal(2, 1, 3, 4)
    value, probe = draw.normal(2, 1, 3, 5), draw.normal(2, 1, 3, 5)
    assert_function_gradients(student.scaled_dot_product_attention, query, key, value, None, probe)


def test_attention_cost_is_quadratic(student, draw):
    """QKᵀ and ·V cost 4× when the sequence doubles, counted in operations."""
    counts = {}
    for n in (32, 64, 128, 256):
        query, key, value = (draw.normal(1, 1, n, 16) for _ in range(3))
        result = student.scaled_dot_product_attention.call(query, key, value, count=True)
        counts[n] = result.operations
    assert_quadratic(counts, "the attention function")
