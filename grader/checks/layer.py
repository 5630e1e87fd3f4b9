"""Checks of a multi-head attention layer: (query, key, value, mask) -> output, weights."""

import re

from torch import Tensor

from grader.checks.attention import AttentionAnswer, ask_attention, need_output
from grader.checks.draw import Draw
from grader.checks.parameters import built
from grader.errors import CheckFailure
from grader.student import Definition, Layer


def random_layer(definition: Definition, draw: Draw, d_model: int, n_heads: int) -> Layer:
    """A layer of the submission with random parameters, biases too.

    Freshly made parameters hide mistakes (biases of 0) and may be degenerate (all zeros, memory
    that was never written).
    """
    layer = built(definition, d_model=d_model, n_heads=n_heads)
    randomise(layer, draw, d_model)
    return layer


def randomise(layer: Layer, draw: Draw, d_model: int) -> dict[str, Tensor]:
    """Give every parameter of a layer new random values, and return them."""
    scale = d_model**-0.5
    values = {
        name: draw.apart(*parameter.value.shape) * (scale if parameter.value.dim() > 1 else 0.3)
        for name, parameter in layer.parameters().items()
    }
    layer.set_parameters(values)
    return values


def layer_answer(
    layer: Layer,
    n_heads: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> AttentionAnswer:
    """What a layer returns: output (B, T_q, D) and weights (B, H, T_q, T_k)."""
    batch, length, d_model = query.shape
    weights_shape = (batch, n_heads, length, key.shape[1])
    shape = (batch, length, d_model)
    return ask_attention(layer, query, key, value, mask, shape, weights_shape)


def layer_output(
    layer: Layer,
    n_heads: int,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    mask: Tensor | None = None,
) -> Tensor:
    """The output of a layer; a CheckFailure when none came back."""
    answer = layer_answer(layer, n_heads, query, key, value, mask)
    return need_output(answer, tuple(query.shape))


def assert_layer_gradients(layer: Layer, draw: Draw, d_model: int) -> None:
    """See that the output's gradient reaches every parameter of an attention layer.

    Args:
        layer: the submission's layer, with random parameters.
        draw: where random values come from.
        d_model: D.
    """
    query, key, value = (draw.normal(2, length, d_model) for length in (3, 4, 4))
    assert_gradients_everywhere(layer, (query, key, value), draw.normal(2, 3, d_model), d_model)


def assert_gradients_everywhere(
    layer: Layer,
    inputs: tuple[Tensor, ...],
    probe: Tensor,
    d_model: int,
    layers: int = 1,
    silent_names: str | None = None,
) -> None:
    """See that the gradient of `sum(output · probe)` reaches every parameter.

    The bias of a key projection is the exception: softmax cancels it, so its gradient is 0.

    Args:
        layer: the submission's module, with random parameters.
        inputs: what it is called with.
        probe: of the output's shape.
        d_model: D.
        layers: how many attentions it holds, each of which may have a bias of its keys.
        silent_names: a pattern of further parameters that need no gradient.
    """
    gradients = layer.call(*inputs, probe=probe).parameter_gradients
    if gradients is None:
        raise CheckFailure(
            "No gradient flows: the output is cut off from the parameters.",
            "an output with requires_grad",
            "an output without (detach, .data, .item(), numpy or no_grad)",
        )
    largest = max((float(g.abs().max()) for g in gradients.values() if g is not None), default=0.0)
    dead = []
    silent = 0
    for name, gradient in gradients.items():
        if silent_names and re.search(silent_names, name):
            continue
        if gradient is None:
            dead.append(name)
        elif float(gradient.abs().max()) <= 1e-6 * largest:
            silent += gradient.numel()
            if silent > layers * d_model:
                dead.append(name)
    if dead:
        raise CheckFailure(
            f"No gradient reaches {', '.join(f'`{name}`' for name in dead[:6])}.",
            "a gradient for every parameter",
            f"none for {len(dead)} of {len(gradients)} parameters",
            misconception="parameters-dead",
        )
