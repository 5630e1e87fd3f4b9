"""Checks of a multi-head attention layer: (query, key, value, mask) -> output, weights."""

import re
from functools import partial

from torch import Tensor

from grader.checks.attention import AttentionAnswer, attention_answer, need_output, need_weights
from grader.checks.draw import Draw
from grader.checks.parameters import built, listed
from grader.checks.tensors import is_close, show, shown_inputs
from grader.diagnosis import Reading, describe, matching, read_by_gradients, read_by_name
from grader.errors import CheckFailure
from grader.student import Definition, Layer
from reference.misconceptions import LAYER_MUTANTS
from reference.misconceptions.layer import LAYER_VARIANTS
from reference.misconceptions.layer import layer as reference_layer

ATTEMPTS = 4  # of reading roles by gradients, each with other random parameters


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
    return attention_answer(layer(query, key, value, mask), (batch, length, d_model), weights_shape)


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


def assert_known_weights(
    definition: Definition, draw: Draw, d_model: int, n_heads: int, weights: bool = False
) -> None:
    """See that a layer computes what the reference computes with the same weights.

    Random values are put into the submission's own parameters, their roles are read by name and, if
    that does not lead to agreement, by gradients; one reading that agrees on fresh inputs, with a
    mask and without, is proof.

    Args:
        definition: the submission's class.
        draw: where random values come from.
        d_model: D, small.
        n_heads: H.
        weights: compare the weights that are returned, in place of the output.

    Raises:
        CheckFailure: with the misconception where one fits; to be looked at by a person where the
            layer's parameters fit no reading, so that nothing is proved.
    """
    guess: CheckFailure | None = None
    layer = built(definition, d_model=d_model, n_heads=n_heads)
    parameters = randomise(layer, draw, d_model)
    reading = read_by_name(parameters, d_model)
    if reading is not None:
        guess = _compare(layer, reading, draw, n_heads, weights)
        if guess is None:
            return
    for _ in range(ATTEMPTS):
        reading = read_by_gradients(
            parameters, partial(_gradients, layer), d_model, n_heads, draw.generator
        )
        if reading is not None:
            failure = _compare(layer, reading, draw, n_heads, weights)
            if failure is None:
                return
            raise failure if failure.misconception or guess is None else guess
        parameters = randomise(layer, draw, d_model)
    if guess is not None and guess.misconception:
        raise guess
    raise CheckFailure(
        "The layer's parameters could not be matched with W_Q, W_K, W_V and W_O, so its values "
        "could not be compared; a person must look.",
        "the values of the reference with the same weights",
        f"parameters {listed(parameters, 12)}",
        status="review",
    )


def _gradients(
    layer: Layer, query: Tensor, key: Tensor, value: Tensor, probe: Tensor
) -> dict[str, Tensor | None]:
    return layer.call(query, key, value, probe=probe).parameter_gradients or {}


def _compare(
    layer: Layer, reading: Reading, draw: Draw, n_heads: int, weights: bool
) -> CheckFailure | None:
    """The first difference from the reference under a reading, or None."""
    d_model = reading.weights["o"].shape[0]
    item = 1 if weights else 0
    for length, masked in ((4, False), (4, True), (300, False)):
        query = draw.normal(2, 3, d_model)
        key, value = draw.normal(2, length, d_model), draw.normal(2, length, d_model)
        mask = draw.mask(2, 1, 3, length) if masked else None
        answer = layer_answer(layer, n_heads, query, key, value, mask)
        right = reference_layer(reading.weights, n_heads, query, key, value, mask)
        expected = right[item]
        need = need_weights if weights else need_output
        got = need(answer, tuple(expected.shape))
        if is_close(got, expected, rtol=1e-3, atol=1e-4):
            continue
        candidates = [
            (
                name,
                partial(
                    lambda mutant, q, k, v, m: mutant(reading.weights, n_heads, q, k, v, m)[item],
                    mutant, query, key, value, mask,
                ),
            )
            for name, mutant in (*LAYER_MUTANTS.items(), *LAYER_VARIANTS)
        ]  # fmt: skip
        misconception, sentence = describe(matching(got, expected, candidates))
        what = "the weights are" if weights else "the output is"
        under = " under a mask" if masked else ""
        return CheckFailure(
            f"With the same projection weights, {what} not the reference's{under}. "
            f"{sentence or ''}".strip(),
            show(expected),
            show(got),
            shown_inputs(query=query, key=key, value=value, mask=mask, n_heads=n_heads),
            misconception,
        )
    return None


def assert_heads_matter(definition: Definition, draw: Draw) -> None:
    """See that one head and four heads give different outputs with the same parameters.

    Where the layout of the parameters depends on the number of heads, agreement with the reference
    for two heads shows it too.
    """
    four = built(definition, d_model=16, n_heads=4)
    one = built(definition, d_model=16, n_heads=1)
    values = randomise(four, draw, 16)
    shapes = {name: parameter.value.shape for name, parameter in one.parameters().items()}
    if shapes != {name: value.shape for name, value in values.items()}:
        assert_known_weights(definition, draw, 6, 2)
        return
    one.set_parameters(values)
    x = draw.normal(2, 5, 16)
    many, single = layer_output(four, 4, x, x, x), layer_output(one, 1, x, x, x)
    if bool((many - single).abs().max() < 1e-5):
        raise CheckFailure(
            "One head and four heads give the same output with the same weights.",
            "different outputs",
            show(many),
            misconception="heads-single",
        )


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
