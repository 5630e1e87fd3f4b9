"""Known weights go into a stack of encoder blocks: block after block must give its output.

`key_padding_mask`: True = ignore this key.
"""

import re
from collections.abc import Mapping

import torch
from torch import Tensor

from grader.checks.blocks import block_output, random_values
from grader.checks.draw import Draw
from grader.checks.known_block import Block, known_block
from grader.checks.parameters import without_numbers
from grader.checks.tensors import is_close, show, shown_inputs
from grader.diagnosis.blocks import STANDARD
from grader.errors import CheckFailure
from grader.student import Definition
from reference.misconceptions.blocks import encoder_block


def assert_known_stack(definition: Definition, draw: Draw) -> None:
    """See that a stack computes what the reference's does, with one layer and with two.

    Args:
        definition: the submission's class, of (n_layers, d_model, n_heads, d_ff).
        draw: where random values come from.
    """
    one = Block.made(definition, decoder=False, further={"n_layers": 1})
    reading = known_block(one, draw)
    two = Block.made(definition, decoder=False, further={"n_layers": 2}).layer
    values = random_values(two, draw)
    two.set_parameters(values)
    layers = _by_layer(list(one.layer.parameters()), values)
    if layers is None:
        raise CheckFailure(
            "The parameters of two layers could not be told apart, so values could not be "
            "compared; a person must look.",
            "the values of the reference with the same weights",
            f"parameters {', '.join(list(values)[:12])}",
            status="review",
        )
    x, padding = draw.normal(2, 4, STANDARD.d_model), torch.zeros(2, 4, dtype=torch.bool)
    padding[1, 2:] = True
    for mask in (None, padding):
        allowed = None if mask is None else ~mask[:, None, None, :]
        expected = x
        for layer_values in layers:
            weights = reading.weights(layer_values)
            expected = encoder_block(weights, STANDARD.n_heads, expected, allowed)
        got = block_output(two, x, mask)
        seen = ... if mask is None else ~mask
        if not is_close(got[seen], expected[seen], rtol=1e-3, atol=1e-4):
            raise CheckFailure(
                "With the same weights, two layers do not give what one block after the other "
                "gives.",
                show(expected),
                show(got),
                shown_inputs(x=x, key_padding_mask=mask),
            )


def _by_layer(names: list[str], values: Mapping[str, Tensor]) -> list[dict[str, Tensor]] | None:
    """The values of each of two layers under the names of a single one; None if that fails.

    Either the layers are registered one after the other, or a number in each name tells the layer.
    """
    items = list(values.items())
    if len(items) != 2 * len(names):
        return None
    halves = [items[: len(names)], items[len(names) :]]
    shapes = [[value.shape for _, value in half] for half in halves]
    if shapes[0] == shapes[1] and _same_names(halves):
        return [dict(zip(names, (v for _, v in half), strict=True)) for half in halves]
    for position in range(4):
        layers: list[list[Tensor]] = [[], []]
        for name, value in items:
            numbers = [int(number) for number in re.findall(r"\d+", name)]
            if len(numbers) > position and numbers[position] in (0, 1):
                layers[numbers[position]].append(value)
        if len(layers[0]) == len(layers[1]) == len(names):
            return [dict(zip(names, layer, strict=True)) for layer in layers]
    return None


def _same_names(halves: list[list[tuple[str, Tensor]]]) -> bool:
    """Whether both halves have the same names, but for numbers and for the modules around."""
    plain = [[without_numbers(name).rpartition(".")[2] for name, _ in half] for half in halves]
    return plain[0] == plain[1]
