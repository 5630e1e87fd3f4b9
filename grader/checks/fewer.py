"""Which mistake a module with too few parameters makes, as its answers show."""

from collections.abc import Callable

import torch
from torch import Tensor

from grader.checks.attention import attention_answer, need_output
from grader.checks.draw import Draw
from grader.checks.parameters import is_matrix, values_of
from grader.diagnosis.fewer import fewer_projections, norms_are_shared
from grader.errors import CheckFailure, StudentError
from grader.student import Layer
from reference.misconceptions.blocks import layer_norm

Ask = Callable[[Tensor, Tensor], Tensor]  # x (B, T, D), memory (B, S, D) -> output (B, T, D)


def told_of_layer(layer: Layer, draw: Draw, d_model: int) -> str | None:
    """The mistake of an attention layer that lacks parameters; None where nothing shows it."""

    def ask(x: Tensor, memory: Tensor) -> Tensor:
        returned = layer(x, memory, memory, None)
        return need_output(attention_answer(returned, tuple(x.shape), ()), tuple(x.shape))

    try:
        values = _without_biases(layer, draw)
        layer.set_parameters(values)
        token, ones = draw.apart(d_model), torch.ones(1, 1, d_model)
        out = ask(ones, token.view(1, 1, -1)).flatten()
        if not _near(ask(ones, token.view(1, 1, -1)).flatten(), out):
            return "layers-created-in-forward"
    except (CheckFailure, StudentError):
        return None
    matrices = [value for value in values.values() if is_matrix(value)]
    return fewer_projections(matrices, 4, d_model, token, lambda gives: _near(gives, out))


def told_of_block(
    layer: Layer, draw: Draw, ask: Ask, attentions: int, d_model: int, d_ff: int
) -> str | None:
    """The mistake of a block that lacks parameters; None where nothing shows it.

    Args:
        layer: the block.
        draw: where random values come from.
        ask: calls it.
        attentions: 1 in an encoder, 2 in a decoder.
        d_model: D.
        d_ff: hidden features.
    """
    x = draw.normal(1, 3, d_model)
    zero = torch.zeros(1, 1, d_model)
    try:
        if not _near(ask(x, x), ask(x, x)):
            return "layers-created-in-forward"
        bare = _without_biases(layer, draw)
        gains = [name for name, value in bare.items() if _is_gain(value, d_model)]
        if len(gains) < attentions + 1:
            shared = _norms_are_shared(layer, draw, ask, gains, attentions + 1, x)
            return "norm-shared" if shared else None
        hidden = {name: 0 * value for name, value in bare.items() if d_ff in value.shape}
        layer.set_parameters({**bare, **hidden})
        token = draw.apart(d_model)
        row = token.view(1, 1, -1)
        own = ask(row, zero).flatten()  # the self-attention alone: the memory is 0
        others = ask(zero, row).flatten()  # the cross-attention alone
    except (CheckFailure, StudentError):
        return None
    matrices = [v for n, v in bare.items() if is_matrix(v) and n not in hidden]
    norms = attentions + 1

    def told(out: Tensor, carried: Tensor) -> str | None:
        def got(gives: Tensor) -> bool:
            return _near(_normed(carried + gives, norms), out)

        return fewer_projections(matrices, 4 * attentions, d_model, token, got)

    found = [told(own, token)]
    if attentions == 2:
        if _near(_normed(token, norms - 1), others):
            return "cross-unprojected"
        found.append(told(others, torch.zeros(d_model)))
    return min((name for name in found if name), key=_MEANING.index, default=None)


_MEANING = ("output-projection-missing", "heads-sliced-input", "heads-shared-projection")


def _norms_are_shared(
    layer: Layer, draw: Draw, ask: Ask, gains: list[str], norms: int, x: Tensor
) -> bool:
    """Whether a block applies the norms that it has more than once: all else is set to 0."""
    fresh = values_of(layer)
    order = list(fresh)
    values = {name: torch.zeros_like(value) for name, value in fresh.items()}
    pairs = []
    for gain in gains:
        values[gain] = draw.apart(*fresh[gain].shape)
        shift = gain.removesuffix("weight") + "bias"
        if shift not in values:
            shift = order[min(order.index(gain) + 1, len(order) - 1)]
        values[shift] = draw.apart(*fresh[shift].shape)
        pairs.append((values[gain].flatten(), values[shift].flatten()))
    layer.set_parameters(values)
    return norms_are_shared(pairs, norms, x, ask(x, x))


def _without_biases(layer: Layer, draw: Draw) -> dict[str, Tensor]:
    """Random matrices; gains of norms as they are, all other vectors 0."""
    values = {}
    for name, value in values_of(layer).items():
        if is_matrix(value):
            values[name] = draw.apart(*value.shape) * max(value.shape) ** -0.5
        else:
            values[name] = value if bool((value == 1).all()) else torch.zeros_like(value)
    return values


def _is_gain(value: Tensor, d_model: int) -> bool:
    return value.numel() == d_model and bool((value == 1).all())


def _normed(row: Tensor, times: int) -> Tensor:
    """A row (D,) after as many norms with gains of 1."""
    one = torch.ones_like(row)
    for _ in range(times):
        row = layer_norm(row, one, torch.zeros_like(row))
    return row


def _near(first: Tensor, second: Tensor) -> bool:
    return first.shape == second.shape and torch.allclose(first, second, rtol=1e-3, atol=1e-3)
