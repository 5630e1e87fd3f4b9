"""Checks of an attention function: (query, key, value, mask) -> output, weights."""

from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.tensors import (
    ATOL,
    RTOL,
    assert_tensor,
    is_close,
    kind_text,
    shape_text,
    show,
    shown_inputs,
    value_message,
)
from grader.diagnosis import describe, matching
from grader.errors import CheckFailure
from grader.student import Definition, Layer
from reference import scaled_dot_product_attention
from reference.misconceptions import ATTENTION_MUTANTS, SENTENCES


@dataclass(frozen=True)
class AttentionAnswer:
    """What an attention returned, told apart by shape; None where nothing of that shape came."""

    output: Tensor | None
    weights: Tensor | None
    returned: Any


def attention_answer(
    returned: Any, output_shape: tuple[int, ...], weights_shape: tuple[int, ...]
) -> AttentionAnswer:
    """Tell output and weights apart, in a tensor, tuple, list or dict, in either order.

    Where both have the same shape, the first is the output.
    """
    tensors = list(_tensors(returned))
    output = next((t for t in tensors if tuple(t.shape) == output_shape), None)
    weights = next(
        (t for t in tensors if tuple(t.shape) == weights_shape and t is not output), None
    )
    return AttentionAnswer(output, weights, returned)


def _tensors(value: Any) -> list[Tensor]:
    if isinstance(value, Tensor):
        return [value]
    if isinstance(value, Mapping):
        value = list(value.values())
    if isinstance(value, (tuple, list)):
        return [tensor for item in value for tensor in _tensors(item)]
    return []


def need_output(answer: AttentionAnswer, shape: tuple[int, ...]) -> Tensor:
    """The output; a CheckFailure when nothing of its shape came back."""
    expected = f"output of shape {shape_text(shape)}"
    if answer.returned is None:
        raise CheckFailure(
            "It returns None: is the body still to be written, or a `return` missing?",
            expected,
            "None",
            misconception="not-implemented",
        )
    if answer.output is None:
        first = answer.returned
        if isinstance(first, (tuple, list)) and first:
            first = first[0]
        if isinstance(first, Tensor):
            assert_tensor(first, shape, "The output")
        raise CheckFailure("No output came back.", expected, kind_text(answer.returned))
    return assert_tensor(answer.output, shape, "The output")


def need_weights(answer: AttentionAnswer, shape: tuple[int, ...]) -> Tensor:
    """The weights; a CheckFailure when nothing of their shape came back."""
    if answer.weights is None:
        others = [t for t in _tensors(answer.returned) if t is not answer.output]
        raise CheckFailure(
            f"No attention weights of shape {shape_text(shape)} came back.",
            f"output and weights, the weights of shape {shape_text(shape)}",
            kind_text(answer.returned),
            misconception="weights-returned-wrong"
            if answer.output is not None and others
            else None,
        )
    return assert_tensor(answer.weights, shape, "The weights")


def _shapes(query: Tensor, key: Tensor, value: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rows = tuple(query.shape[:-1])
    return (*rows, value.shape[-1]), (*rows, key.shape[-2])


def _ask(
    attend: Definition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> AttentionAnswer:
    return attention_answer(attend(query, key, value, mask), *_shapes(query, key, value))


def assert_attention(
    attend: Definition,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
    what: str = "The output",
) -> Tensor:
    """See that the output is the reference's; names the misconception where one fits.

    Args:
        attend: the submission's attention.
        query: (..., T_q, d_k)
        key: (..., T_k, d_k)
        value: (..., T_k, d_v)
        mask: True = may attend.
        what: how the message calls the output.

    Returns:
        The output.
    """
    answer = _ask(attend, query, key, value, mask)
    output = need_output(answer, _shapes(query, key, value)[0])
    expected, _ = scaled_dot_product_attention(query, key, value, _bool(mask))
    if not is_close(output, expected):
        raise _difference(attend, output, expected, 0, query, key, value, mask, what)
    return output


def assert_weights(
    attend: Definition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """See that the weights that are returned are the reference's; returns them."""
    answer = _ask(attend, query, key, value, mask)
    weights = need_weights(answer, _shapes(query, key, value)[1])
    output, expected = scaled_dot_product_attention(query, key, value, _bool(mask))
    if is_close(weights, expected):
        return weights
    failure = _difference(attend, weights, expected, 1, query, key, value, mask, "The weights")
    if answer.output is not None and is_close(answer.output, output):
        failure.misconception = "weights-returned-wrong"
        failure.message = SENTENCES[failure.misconception]
    raise failure


def _bool(mask: Tensor | None) -> Tensor | None:
    return None if mask is None else mask != 0


def _difference(
    attend: Definition,
    got: Tensor,
    expected: Tensor,
    item: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    what: str,
) -> CheckFailure:
    """The failure for a wrong output (item 0) or wrong weights (item 1), diagnosed."""
    plain = _bool(mask)
    candidates = {
        name: partial(lambda mutant: mutant(query, key, value, plain)[item], mutant)
        for name, mutant in ATTENTION_MUTANTS.items()
    }
    misconception, sentence = describe(matching(got, expected, candidates))
    if misconception is None and mask is not None and bool(torch.isnan(got).any()):
        unmasked = _ask(attend, query, key, value, None).output
        right = scaled_dot_product_attention(query, key, value)[0]
        if unmasked is not None and is_close(unmasked, right):
            misconception, sentence = describe(["mask-nan"])
    return CheckFailure(
        f"{value_message(what, got)} {sentence or ''}".strip(),
        show(expected),
        show(got),
        shown_inputs(query=query, key=key, value=value, mask=mask),
        misconception,
    )


def assert_function_gradients(
    attend: Definition,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    probe: Tensor,
) -> None:
    """See that gradients of `sum(output · probe)` reach query, key and value, and are right."""
    result = attend.call(query, key, value, mask, probe=probe, gradients_of=(0, 1, 2))
    if result.input_gradients is None:
        raise CheckFailure(
            "No gradient flows: the output is cut off from its inputs.",
            "an output with requires_grad",
            "an output without (detach, .data, .item(), numpy or no_grad)",
        )
    leaves = [tensor.clone().requires_grad_(True) for tensor in (query, key, value)]
    output, _ = scaled_dot_product_attention(leaves[0], leaves[1], leaves[2], mask)
    expected = torch.autograd.grad((output * probe).sum(), leaves)
    for got, right, name in zip(
        result.input_gradients, expected, ("query", "key", "value"), strict=True
    ):
        if got is None:
            raise CheckFailure(f"No gradient reaches {name}.", show(right), "None")
        if not is_close(got, right, rtol=1e-3, atol=1e-5):
            raise CheckFailure(f"The gradient of {name} is wrong.", show(right), show(got))


def layer_or_function_output(
    target: Definition | Layer, inputs: tuple[Any, ...], shape: tuple[int, ...]
) -> Tensor:
    """The output of a call, picked by shape."""
    return need_output(attention_answer(target(*inputs), shape, (-1,)), shape)


__all__ = [
    "ATOL",
    "RTOL",
    "AttentionAnswer",
    "assert_attention",
    "assert_function_gradients",
    "assert_weights",
    "attention_answer",
    "layer_or_function_output",
    "need_output",
    "need_weights",
]
