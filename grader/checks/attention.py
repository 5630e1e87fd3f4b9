"""Checks of an attention function: (query, key, value, mask) -> output, weights."""

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.explain import with_steps
from grader.checks.smallest import Axis, Inputs, code_of_call, smallest
from grader.checks.tensors import (
    assert_tensor,
    is_close,
    kind_text,
    shape_text,
    show,
    shown_inputs,
    value_message,
)
from grader.diagnosis import describe, matching
from grader.diagnosis.recipes import attention_steps
from grader.errors import CheckFailure, StudentError
from grader.student import Definition, Layer
from grader.worker.answers import Fields
from reference import scaled_dot_product_attention
from reference.misconceptions import (
    ATTENTION_MUTANTS,
    ATTENTION_PAIRS,
    ATTENTION_VARIANTS,
    SENTENCES,
    Attention,
)

# What keys and fields are called; `attn_output` is an output.
_OUTPUT = re.compile("out|context|result", re.IGNORECASE)
_WEIGHTS = re.compile("weight|attn|attention|score|prob|alpha", re.IGNORECASE)


@dataclass(frozen=True)
class AttentionAnswer:
    """What an attention returned, told apart; None where nothing of that shape came.

    Attributes:
        output: the output.
        weights: the weights.
        returned: all of it.
        form: how it came, for a note, where that is another way than (output, weights).
    """

    output: Tensor | None
    weights: Tensor | None
    returned: Any
    form: str | None = None


def attention_answer(
    returned: Any, output_shape: tuple[int, ...], weights_shape: tuple[int, ...]
) -> AttentionAnswer:
    """Tell output and weights apart, in a tensor, tuple, list, dict or object, in either order.

    Shapes tell them apart. Where those are the same, the weights are what is not negative and sums
    to 1 in each row, if that holds for one of them; or else names tell, as keys or fields; or else
    the first is the output.
    """
    named = list(_named_tensors(returned))
    outputs = [(name, t) for name, t in named if tuple(t.shape) == output_shape]
    rows = [(name, t) for name, t in named if tuple(t.shape) == weights_shape]
    if output_shape != weights_shape:
        weights = _weights_among(rows, rows[0][1]) if rows else None
    else:
        weights = _weights_among(rows, rows[1][1]) if len(rows) > 1 else None
    output = next((tensor for _, tensor in outputs if tensor is not weights), None)
    return AttentionAnswer(output, weights, returned, _form(returned, output, weights))


def ask_attention(
    attend: Definition | Layer,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    output_shape: tuple[int, ...],
    weights_shape: tuple[int, ...],
) -> AttentionAnswer:
    """What a function or layer answers, told apart; another form than the usual is noted."""
    answer = attention_answer(attend(query, key, value, mask), output_shape, weights_shape)
    if answer.form is not None:
        attend.note(f"`{attend.spelling}` returns {answer.form}.")
    return answer


def _named_tensors(value: Any, name: str = "") -> Iterator[tuple[str, Tensor]]:
    """The tensors in a value, each with the key or field that it stands under."""
    if isinstance(value, Tensor):
        yield name, value
    elif isinstance(value, Mapping):
        for key, item in value.items():
            yield from _named_tensors(item, str(key))
    elif isinstance(value, Fields):
        for field, item in zip(value.names, value, strict=True):
            yield from _named_tensors(item, field)
    elif isinstance(value, (tuple, list)):
        for item in value:
            yield from _named_tensors(item, name)


def _weights_among(rows: list[tuple[str, Tensor]], otherwise: Tensor) -> Tensor:
    """Which of several tensors are the weights, by content or name."""
    alike = [tensor for _, tensor in rows if _is_distribution(tensor)]
    if len(alike) == 1:
        return alike[0]
    called = [tensor for name, tensor in rows if _WEIGHTS.search(name) and not _OUTPUT.search(name)]
    others = [tensor for name, tensor in rows if not _OUTPUT.search(name)]
    if len(called) == 1:
        return called[0]
    return others[0] if len(others) == 1 else otherwise


def _is_distribution(tensor: Tensor) -> bool:
    """Whether each row is not negative and sums to 1."""
    if not tensor.is_floating_point():
        return False
    sums = tensor.sum(-1)
    return bool((tensor >= 0).all()) and torch.allclose(sums, torch.ones_like(sums), atol=1e-4)


def _form(returned: Any, output: Tensor | None, weights: Tensor | None) -> str | None:
    """How output and weights came, where not as a tuple (output, weights) or an output alone."""
    if output is None:
        return None
    kind = None
    if isinstance(returned, Mapping):
        kind = "a dict"
    elif isinstance(returned, Fields) and not returned.unpacks:
        kind = f"`{returned.type}`"
    elif isinstance(returned, list):
        kind = "a list"
    if kind is not None:
        return f"{kind}; the assignment asks for the tuple (output, weights)"
    places = [id(tensor) for _, tensor in _named_tensors(returned)]
    if weights is not None and places.index(id(weights)) < places.index(id(output)):
        return "(weights, output); the assignment's order is (output, weights)"
    return None


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
        others = [t for _, t in _named_tensors(answer.returned) if t is not answer.output]
        raise CheckFailure(
            f"No attention weights of shape {shape_text(shape)} came back.",
            f"output and weights, the weights of shape {shape_text(shape)}",
            kind_text(answer.returned),
            misconception="weights-returned-wrong"
            if answer.output is not None and any(t.shape[-1:] == shape[-1:] for t in others)
            else None,  # over other keys than there are: another mistake shows there
        )
    return assert_tensor(answer.weights, shape, "The weights")


def _shapes(query: Tensor, key: Tensor, value: Tensor) -> tuple[tuple[int, ...], tuple[int, ...]]:
    rows = tuple(query.shape[:-1])
    return (*rows, value.shape[-1]), (*rows, key.shape[-2])


def _ask(
    attend: Definition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> AttentionAnswer:
    return ask_attention(attend, query, key, value, mask, *_shapes(query, key, value))


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
    output, expected = _beside_reference(attend, query, key, value, mask)
    if not is_close(output, expected):
        raise _difference(attend, output, expected, query, key, value, mask, what)
    return output


def _beside_reference(
    attend: Definition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> tuple[Tensor, Tensor]:
    """The submission's output, and the reference's."""
    answer = _ask(attend, query, key, value, mask)
    try:
        output = need_output(answer, _shapes(query, key, value)[0])
    except CheckFailure as failure:
        failure.misconception = failure.misconception or _of_other_shape(
            answer, query, key, value, mask
        )
        raise
    return output, scaled_dot_product_attention(query, key, value, mask)[0]


def _of_other_shape(
    answer: AttentionAnswer, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> str | None:
    """The misconception whose output is among what was returned, where its shape is wrong."""
    for name, compute in _mutants(0, query, key, value, mask):
        try:
            wrong = compute()
        except (RuntimeError, IndexError):
            continue
        for _, tensor in _named_tensors(answer.returned):
            if tensor.shape == wrong.shape and is_close(tensor, wrong, rtol=1e-3):
                return name
    return None


def assert_in_any_dimensions(attend: Definition, query: Tensor, key: Tensor, value: Tensor) -> None:
    """See that the output is the reference's, or what the submission gives in other dimensions.

    Args:
        attend: the submission's attention.
        query: (..., T_q, d_k)
        key: (..., T_k, d_k)
        value: (..., T_k, d_v)
    """
    output, expected = _beside_reference(attend, query, key, value, None)
    if is_close(output, expected):
        return
    # One dimension fewer where there is one to spare, else one more.
    less = query.dim() > 2
    flat = [x.reshape(-1, *x.shape[-2:]) if less else x[None, None] for x in (query, key, value)]
    alone = [
        need_output(_ask(attend, q, k, v, None), _shapes(q, k, v)[0])
        for q, k, v in zip(*flat, strict=True)
    ]
    if not is_close(output, torch.stack(alone).view_as(output)):
        raise _difference(attend, output, expected, query, key, value, None, "The output")


def assert_mask(
    attend: Definition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
) -> None:
    """See that a mask hides what it says: the output is that of the visible keys alone.

    An output that is not the reference's passes too if it is what the submission itself gives for
    each query and the keys that it may see. So a mistake elsewhere, such as a missing scale, costs
    nothing here.

    Args:
        attend: the submission's attention.
        query: (..., T_q, d_k)
        key: (..., T_k, d_k)
        value: (..., T_k, d_v)
        mask: True (or 1) = may attend; broadcasts to (..., T_q, T_k).
    """
    output, expected = _beside_reference(attend, query, key, value, mask)
    if is_close(output, expected):
        return
    if not is_close(output, _of_visible_keys(attend, query, key, value, mask)):
        raise _difference(attend, output, expected, query, key, value, mask, "The output")


def _of_visible_keys(
    attend: Definition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor
) -> Tensor:
    """What the submission gives for each query alone, with only the keys that it may see."""
    leading, t_q, t_k = query.shape[:-2], query.shape[-2], key.shape[-2]
    allowed = (mask != 0).broadcast_to(*leading, t_q, t_k)
    rows = torch.empty(*leading, t_q, value.shape[-1])
    samples = range(leading[0]) if leading else [slice(None)]
    for sample in samples:
        for t in range(t_q):
            here = allowed[sample] if leading else allowed
            seen = here.reshape(-1, t_q, t_k)[0, t]  # masks do not differ from head to head
            chosen = slice(sample, sample + 1) if isinstance(sample, int) else ...
            one = query[chosen][..., t : t + 1, :]
            few, of = key[chosen][..., seen, :], value[chosen][..., seen, :]
            shape = (*one.shape[:-1], value.shape[-1])
            answer = attention_answer(attend(one, few, of), shape, (*one.shape[:-1], few.shape[-2]))
            rows[chosen][..., t : t + 1, :] = need_output(answer, shape)
    return rows


def assert_weights(
    attend: Definition, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None = None
) -> Tensor:
    """See that the weights that are returned are those that made the output, and sum to 1.

    Under a mask, those of hidden keys must be exactly 0. Whether they are the right ones shows in
    the output, which other checks compare.

    Returns:
        The weights (..., T_q, T_k).
    """
    output_shape, shape = _shapes(query, key, value)
    answer = _ask(attend, query, key, value, mask)
    weights = need_weights(answer, shape)
    shown = shown_inputs(query=query, key=key, value=value, mask=mask)
    _, right = scaled_dot_product_attention(query, key, value, mask)
    output = need_output(answer, output_shape)
    if not is_close(weights @ value, output, rtol=1e-3, atol=1e-4):
        raise CheckFailure(
            SENTENCES["weights-returned-wrong"],
            f"weights whose product with the values is the output, {show(output)}",
            f"weights {show(weights)}, whose product is {show(weights @ value)}",
            shown,
            "weights-returned-wrong",
        )
    sums = weights.sum(-1)
    hidden = torch.zeros(shape) if mask is None else weights * (mask == 0)
    if not is_close(sums, torch.ones_like(sums)) or bool((hidden != 0).any()):
        misconception, sentence = describe(
            matching(weights, right, _mutants(1, query, key, value, mask))
        )
        raise CheckFailure(
            sentence or "The weights of a query do not sum to 1 over the keys that it may see.",
            show(right),
            show(weights),
            shown,
            misconception,
        )
    return weights


def _mutants(
    item: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> list[tuple[str, Callable[[], Tensor]]]:
    """What gives each wrong attention's output (item 0) or weights (item 1) on an input."""
    mutants = (*ATTENTION_MUTANTS.items(), *ATTENTION_VARIANTS)
    return _computing(mutants, item, query, key, value, mask)


def _pairs(
    item: int, query: Tensor, key: Tensor, value: Tensor, mask: Tensor | None
) -> list[tuple[str, Callable[[], Tensor]]]:
    """The same for two mistakes at once."""
    return _computing(ATTENTION_PAIRS, item, query, key, value, mask)


def _computing(
    mutants: Iterable[tuple[str, Attention]], item: int, *inputs: Any
) -> list[tuple[str, Callable[[], Tensor]]]:
    return [
        (name, partial(lambda mutant: mutant(*inputs)[item], mutant)) for name, mutant in mutants
    ]


def _difference(
    attend: Definition,
    got: Tensor,
    expected: Tensor,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    what: str,
) -> CheckFailure:
    """The failure for a wrong output: diagnosed, on the smallest input, with the steps taken."""
    inputs = (query, key, value, mask)
    ids = matching(got, expected, _mutants(0, *inputs))
    ids = ids or matching(got, expected, _pairs(0, *inputs))
    misconception, sentence = describe(ids)
    if misconception is None and mask is not None and bool(torch.isnan(got).any()):
        unmasked = _ask(attend, query, key, value, None).output
        right = scaled_dot_product_attention(query, key, value)[0]
        if unmasked is not None and is_close(unmasked, right):
            misconception, sentence = describe(["mask-nan"])
    failure = CheckFailure(
        f"{value_message(what, got)} {sentence or ''}".strip(),
        show(expected),
        show(got),
        shown_inputs(query=query, key=key, value=value, mask=mask),
        misconception,
    )
    if misconception is not None and not attend.explains(misconception):
        return failure
    try:
        traced = attend.call(query, key, value, mask, trace=True)
    except StudentError:
        return failure  # its time is used up
    failure = with_steps(failure, attend, attention_steps(query, key, value, mask), traced)
    small = _smallest(attend, query, key, value, mask, ids[0] if ids else None, got)
    query, key, value, mask = arguments_of(small)
    got, expected = _beside_reference(attend, query, key, value, mask)
    failure.expected, failure.got = show(expected), show(got)
    failure.shown = code_of_call(attend, small)
    return failure


def arguments_of(inputs: Inputs) -> tuple[Tensor, Tensor, Tensor, Tensor | None]:
    """Query, key, value and mask, out of inputs by name."""
    query, key, value = (inputs[name] for name in ("query", "key", "value"))
    assert query is not None
    assert key is not None
    assert value is not None
    return query, key, value, inputs["mask"]


_AXES = (
    Axis({"query": -4, "key": -4, "value": -4, "mask": -4}),
    Axis({"query": -3, "key": -3, "value": -3, "mask": -3}),
    Axis({"query": -2, "mask": -2}),
    Axis({"key": -2, "value": -2, "mask": -1}),
    Axis({"value": -1}),
    Axis({"query": -1, "key": -1}),
)


def _smallest(
    attend: Definition,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None,
    misconception: str | None,
    got: Tensor,
) -> Inputs:
    """The smallest input on which the output is wrong in the same way."""
    is_nan = bool(torch.isnan(got).any())
    largest = float(max(query.abs().max(), key.abs().max()))

    def fails(inputs: Inputs) -> bool:
        query, key, value, mask = arguments_of(inputs)
        shown = max(float(query.abs().max()), float(key.abs().max()))
        if (mask is not None and bool((mask == 0).all(-1).any())) or 2 * shown < largest:
            return False  # undefined, or large inputs were the point
        output, expected = _beside_reference(attend, query, key, value, mask)
        if is_nan:
            return bool(torch.isnan(output).any())
        if not bool(torch.isfinite(output).all()) or float((output - expected).abs().max()) < 0.02:
            return False
        if misconception is None:
            return True
        return any(
            is_close(output, wrong(), rtol=1e-3, atol=1e-5)
            for candidates in (_mutants, _pairs)
            for name, wrong in candidates(0, query, key, value, mask)
            if name == misconception
        )

    inputs: Inputs = {"query": query, "key": key, "value": value, "mask": mask}
    return smallest(inputs, _AXES, fails, flatten=True)


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
