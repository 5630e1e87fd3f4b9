"""Checks of encoder and decoder blocks, and of stacks of them.

`key_padding_mask`: True = ignore this key. What stands at a padded position of the output means
nothing, so it is never compared; PyTorch's own encoder may even leave it out.
"""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor

from grader.checks.attention import attention_answer, need_output
from grader.checks.draw import Draw
from grader.checks.fewer import told_of_block
from grader.checks.parameters import built, is_matrix, listed, values_of
from grader.checks.tensors import kind_text, shape_text, show
from grader.errors import CheckFailure
from grader.student import Definition, Layer


def random_values(layer: Layer, draw: Draw) -> dict[str, Tensor]:
    """Random values for every parameter of a layer, matrices scaled by their inputs."""
    values = {}
    for name, parameter in layer.parameters().items():
        shape = parameter.value.shape
        scale = max(shape) ** -0.5 if is_matrix(parameter.value) else 0.6
        values[name] = draw.apart(*shape) * scale
    return values


def random_block(definition: Definition, draw: Draw, **arguments: Any) -> Layer:
    """A module of the submission with random parameters, norm gains and biases too."""
    layer = built(definition, **arguments)
    layer.set_parameters(random_values(layer, draw))
    return layer


def block_output(layer: Layer, x: Tensor, *others: Tensor | None, **options: Any) -> Tensor:
    """The output (B, T, D) of a block; the first item where a tuple comes back.

    Positions that are missing at the end, as PyTorch's own encoder leaves out where all samples are
    padded, come back as zeros.
    """
    returned = layer.call(x, *others, **options).returned
    shape = tuple(x.shape)
    padding = others[-1] if others else None
    answer = attention_answer(returned, shape, ())
    first = returned[0] if isinstance(returned, (tuple, list)) and returned else returned
    if (
        answer.output is None
        and isinstance(first, Tensor)
        and first.dim() == 3
        and padding is not None
    ):
        longest = int((~padding).sum(1).max()) if padding.dtype == torch.bool else shape[1]
        cut = (shape[0], first.shape[1], shape[2])
        if tuple(first.shape) == cut and longest <= cut[1] < shape[1]:
            filled = torch.zeros(shape)
            filled[:, : cut[1]] = first
            return filled
    if isinstance(returned, Mapping):
        raise CheckFailure(
            "It returns a dict; the assignment asks for a tensor.",
            f"a tensor of shape {shape_text(shape)}",
            kind_text(returned),
        )
    return need_output(answer, shape)


def assert_block_count(
    layer: Layer,
    blocks: int,
    attentions: int,
    d_model: int,
    d_ff: int,
    what: str,
    draw: Draw | None = None,
) -> int:
    """See that a module has the parameters of so many blocks, with or without attention biases.

    Args:
        layer: the submission's module.
        blocks: how many blocks it holds, N.
        attentions: of each block: 1 in an encoder, 2 in a decoder.
        d_model: D.
        d_ff: hidden features.
        what: how the message calls it.
        draw: where random values come from, to tell which mistake it is where the count does not.

    Returns:
        The count.
    """
    values = values_of(layer)
    count = sum(value.numel() for value in values.values())
    allowed = allowed_counts(blocks, attentions, d_model, d_ff)
    if count in allowed:
        return count
    feed_forward, norms = feed_forward_count(d_model, d_ff), (attentions + 1) * 2 * d_model
    each = (
        f"{attentions} × 4·{d_model}² (attention) + {feed_forward:,} (feed-forward, with biases) + "
        f"{norms} ({attentions + 1} LayerNorms)"
    )
    told = None
    if draw is not None and 0 < count < allowed[0]:
        told = told_by_answers(layer, draw, attentions, d_model, d_ff)
    raise CheckFailure(
        f"{what} has {count:,} parameters; {'each block has' if blocks > 1 else 'it should have'} "
        f"{each}, and {d_model} more for each bias of an attention projection.",
        f"{allowed[0]:,} (or up to {allowed[-1]:,} with biases)",
        f"{count:,}: {listed(values, 16)}",
        f"d_model = {d_model}, d_ff = {d_ff}" + (f", {blocks} layers" if blocks > 1 else ""),
        told or count_misconception(values, blocks, attentions, d_model, d_ff),
    )


def told_by_answers(
    layer: Layer, draw: Draw, attentions: int, d_model: int, d_ff: int
) -> str | None:
    """The mistake of a block that lacks parameters, as its answers show."""

    def ask(x: Tensor, memory: Tensor) -> Tensor:
        return block_output(layer, x, memory) if attentions == 2 else block_output(layer, x)

    return told_of_block(layer, draw, ask, attentions, d_model, d_ff)


def feed_forward_count(d_model: int, d_ff: int) -> int:
    """Parameters of a feed-forward network, biases included."""
    return 2 * d_model * d_ff + d_ff + d_model


def allowed_counts(blocks: int, attentions: int, d_model: int, d_ff: int) -> list[int]:
    """The numbers of parameters that so many blocks may have, by the biases of the attentions.

    8,416 to 8,544 for (1, 1, 32, 64).
    """
    norms = (attentions + 1) * 2 * d_model
    bare = attentions * 4 * d_model**2 + feed_forward_count(d_model, d_ff) + norms
    return [blocks * (bare + biases * d_model) for biases in range(4 * attentions + 1)]


def count_misconception(
    values: Mapping[str, Tensor], blocks: int, attentions: int, d_model: int, d_ff: int
) -> str | None:
    """What a number of parameters means, where it means one thing only."""
    count = sum(value.numel() for value in values.values())
    bare, *_, all_biases = allowed_counts(1, attentions, d_model, d_ff)
    biases = [0, all_biases - bare]  # none or all: else counts coincide
    if count == 0:
        return "layers-unregistered"
    if blocks > 1:
        return "layers-shared" if count in (bare, all_biases) else None
    meanings = {
        "norm-missing": [2 * d_model * n for n in range(1, attentions + 2)],
        "output-projection-missing": [d_model**2, 2 * d_model**2][:attentions],
        "norm-scalar-gain": [(2 * d_model - 2) * (attentions + 1)],
    }
    width = 2 * d_model + 1  # parameters for each further hidden feature
    other_width = any((count - bare - bias) % width == 0 for bias in biases)
    if not any(d_ff in value.shape for value in values.values()):
        return "ffn-wrong-width" if other_width else "ffn-missing"
    for misconception, missing in meanings.items():
        if any(count == bare - less + bias for less in missing for bias in biases):
            return misconception
    if attentions == 2 and any(
        count == bare - 4 * d_model**2 - 2 * d_model + bias for bias in (0, 4 * d_model)
    ):
        return "decoder-cross-missing"
    return "ffn-wrong-width" if other_width else None


def assert_heads_matter(
    definition: Definition,
    draw: Draw,
    sizes: Mapping[str, int],
    heads: tuple[int, int],
    output: Callable[[Layer], Tensor],
) -> None:
    """See that n_heads has an effect: the same parameters give other outputs.

    Where the shapes of the parameters depend on the heads, they have one in any case.

    Args:
        definition: the submission's class.
        draw: where random values come from.
        sizes: the other arguments.
        heads: two numbers of heads.
        output: calls the module on an input.
    """
    first, second = (built(definition, **sizes, n_heads=n) for n in heads)
    shapes = [
        {name: p.value.shape for name, p in module.parameters().items()}
        for module in (first, second)
    ]
    if shapes[0] != shapes[1]:
        return
    for _ in range(3):  # attention may hardly count with one set of values
        values = random_values(first, draw)
        first.set_parameters(values)
        second.set_parameters(values)
        one, other = output(first), output(second)
        if float((one - other).abs().max()) > 1e-5:
            return
    raise CheckFailure(
        f"{heads[0]} and {heads[1]} heads give the same output with the same weights.",
        "different outputs",
        show(one),
        f"{definition.name}({', '.join(f'{k}={v}' for k, v in sizes.items())}, n_heads=…)",
        "argument-ignored",
    )


def equal_features(definition: Definition, draw: Draw) -> Layer:
    """A block whose parameters are 0 but for the gains of its norms."""
    block = built(definition, d_model=8, n_heads=2, d_ff=12)
    block.set_parameters(
        {
            name: draw.apart(*p.value.shape) if bool((p.value == 1).all()) else 0 * p.value
            for name, p in block.parameters().items()
        }
    )
    return block


def mask_is_idle(layer: Layer, *inputs: Tensor) -> bool:
    """Whether a padding mask, the last input, changes nothing at all, as when it is not passed on.

    A mask that only hides the wrong thing, or hides too little, is another mistake.
    """
    *others, mask = inputs
    masked, plain = block_output(layer, *others, mask), block_output(layer, *others, None)
    kept = ~mask if len(others) == 1 else torch.ones(plain.shape[:2], dtype=torch.bool)
    return torch.allclose(masked[kept], plain[kept], atol=1e-5)


def assert_finite(output: Tensor) -> None:
    """See that tokens whose features are all equal gave finite numbers."""
    if not bool(torch.isfinite(output).all()):
        raise CheckFailure(
            "Equal features give NaN or infinite numbers.",
            "finite values",
            show(output),
            "x of zeros, ones and -2.5, all weights and biases 0",
            "norm-without-eps",
        )
