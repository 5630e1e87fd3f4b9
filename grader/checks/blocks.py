"""Checks of encoder and decoder blocks, and of stacks of them.

`key_padding_mask`: True = ignore this key. What stands at a padded position of the output means
nothing, so it is never compared; PyTorch's own encoder may even leave it out.
"""

import math
import re
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import torch
from torch import Tensor

from grader.checks.attention import attention_answer, need_output
from grader.checks.draw import Draw
from grader.checks.fewer import told_of_block
from grader.checks.parameters import built, is_matrix, listed, values_of
from grader.checks.raised import raises_unlike
from grader.checks.tensors import is_close, kind_text, shape_text, show, shown_inputs, value_message
from grader.diagnosis import describe, matching
from grader.diagnosis.blocks import (
    D_FF,
    D_MODEL,
    N_HEADS,
    BlockReading,
    BlockSearch,
    Unreadable,
    right_block,
)
from grader.errors import CheckFailure
from grader.student import Definition, Layer
from reference.misconceptions.blocks import DECODER_MUTANTS, ENCODER_MUTANTS, BlockWeights

SIZES = {"d_model": D_MODEL, "n_heads": N_HEADS, "d_ff": D_FF}


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
        told = _told_by_answers(layer, draw, attentions, d_model, d_ff)
    raise CheckFailure(
        f"{what} has {count:,} parameters; {'each block has' if blocks > 1 else 'it should have'} "
        f"{each}, and {d_model} more for each bias of an attention projection.",
        f"{allowed[0]:,} (or up to {allowed[-1]:,} with biases)",
        f"{count:,}: {listed(values, 16)}",
        f"d_model = {d_model}, d_ff = {d_ff}" + (f", {blocks} layers" if blocks > 1 else ""),
        told or _count_misconception(values, blocks, attentions, d_model, d_ff),
    )


def _told_by_answers(
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


def _count_misconception(
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


def assert_known_block(definition: Definition, draw: Draw, decoder: bool = False) -> BlockReading:
    """See that a block computes what the reference computes with the same weights.

    Random values are put into the submission's own parameters, whose roles are found by behaviour.

    Args:
        definition: the submission's class.
        draw: where random values come from.
        decoder: whether it is a decoder block.

    Returns:
        The roles of its parameters.

    Raises:
        CheckFailure: with the misconception where one fits; to be looked at by a person where the
            parameters fit no reading, so that nothing is proved.
    """
    layer = built(definition, **SIZES)
    return _known(layer, partial(_ask, layer, decoder=decoder), draw, decoder)


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


def assert_known_stack(definition: Definition, draw: Draw) -> None:
    """See that a stack computes what the reference's does, with one layer and with two.

    Args:
        definition: the submission's class, of (n_layers, d_model, n_heads, d_ff).
        draw: where random values come from.
    """
    one = built(definition, n_layers=1, **SIZES)
    reading = _known(one, partial(_ask, one, decoder=False), draw, decoder=False)
    two = built(definition, n_layers=2, **SIZES)
    values = random_values(two, draw)
    two.set_parameters(values)
    layers = _by_layer(list(one.parameters()), values)
    if layers is None:
        raise CheckFailure(
            "The parameters of two layers could not be told apart, so values could not be "
            "compared; a person must look.",
            "the values of the reference with the same weights",
            f"parameters {', '.join(list(values)[:12])}",
            status="review",
        )
    x, padding = draw.normal(2, 4, D_MODEL), torch.zeros(2, 4, dtype=torch.bool)
    padding[1, 2:] = True
    for mask in (None, padding):
        allowed = None if mask is None else ~mask[:, None, None, :]
        expected = x
        for layer_values in layers:
            expected = right_block(reading.weights(layer_values), expected, x, allowed, False)
        got = block_output(two, x, mask)
        if not _agree(got, expected, mask):
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


def without_numbers(name: str) -> str:
    """A parameter's name with every number as "#"."""
    return re.sub(r"\d+", "#", name)


def _ask(
    layer: Layer, values: Mapping[str, Tensor], x: Tensor, memory: Tensor, decoder: bool
) -> Tensor:
    layer.set_parameters(dict(values))
    return block_output(layer, x, memory) if decoder else block_output(layer, x)


def _reached(
    layer: Layer, draw: Draw, values: Mapping[str, Tensor], x: Tensor, memory: Tensor
) -> set[str]:
    """The parameters of a decoder block that a gradient of its output reaches."""
    layer.set_parameters(dict(values))
    gradients = layer.call(x, memory, probe=draw.normal(*x.shape)).parameter_gradients or {}
    return {
        name
        for name, gradient in gradients.items()
        if gradient is not None and float(gradient.abs().max()) > 1e-6
    }


def _known(layer: Layer, ask: Callable[..., Tensor], draw: Draw, decoder: bool) -> BlockReading:
    """The reading of a block that is right; a CheckFailure for one that is not."""
    fresh = values_of(layer)
    try:
        search = BlockSearch(fresh, ask, partial(_reached, layer, draw), draw, decoder)
    except Unreadable as error:
        raise _unreadable(error, layer, fresh, draw, decoder) from None
    try:
        reading = search.read()
    except Unreadable as problem:
        raise _diagnosed(layer, search, problem, fresh, draw, decoder) from None
    values = random_values(layer, draw)
    layer.set_parameters(values)
    for padded in (False, True):
        failure = _compare(layer, [reading], values, draw, decoder, padded)
        if failure is not None:
            raise failure
    return reading


def _diagnosed(
    layer: Layer,
    search: BlockSearch,
    problem: Unreadable,
    fresh: Mapping[str, Tensor],
    draw: Draw,
    decoder: bool,
) -> CheckFailure:
    """The failure for a block that no reading fits: with the mistake that explains it, if any."""
    for readings, off in search.attempts(problem):
        values = random_values(layer, draw)
        values.update({name: torch.zeros_like(fresh[name]) for name in off})
        layer.set_parameters(values)
        for padded in (False, True):
            failure = _compare(layer, readings, values, draw, decoder, padded)
            if failure is not None and failure.misconception:
                return failure
    if not problem.usual:
        return _unreadable(problem, layer, fresh, draw, decoder)
    return CheckFailure(
        f"The block does not compute what the recipe says: {problem}.",
        "LayerNorm(x + sublayer(x)) for each sublayer",
        "other values",
        f"d_model = {D_MODEL}, n_heads = {N_HEADS}, d_ff = {D_FF}",
    )


def _compare(
    layer: Layer,
    readings: list[BlockReading],
    values: Mapping[str, Tensor],
    draw: Draw,
    decoder: bool,
    padded: bool,
) -> CheckFailure | None:
    """The difference from the right block under the first reading, diagnosed under any; or None."""
    length, memory_length = 4, 5
    x, memory = draw.normal(2, length, D_MODEL), draw.normal(2, memory_length, D_MODEL)
    (memory if decoder else x)[:, 2] = 0.0  # a key that scores 0 where there are no biases
    mask = torch.zeros(2, memory_length if decoder else length, dtype=torch.bool)
    mask[0, 1], mask[1, -2:] = True, True
    given = mask if padded else None
    allowed = ~mask[:, None, None, :] if padded else None
    got = _masked_output(layer, x, memory, given, decoder)
    hidden = None if decoder else mask.clone() if padded else torch.zeros_like(mask)
    if hidden is not None:
        hidden[:, 2] = True  # a token of zeros may have so little variance that eps shows
    weights = [reading.weights(values) for reading in readings]
    if weights:
        expected = right_block(weights[0], x, memory, allowed, decoder)
        if _agree(got, expected, hidden):
            return None
    failure = _difference(weights, got, x, memory, allowed, hidden, decoder)
    if padded and failure.misconception is None and bool(torch.isnan(got).all(-1).any()):
        plain = _masked_output(layer, x, memory, None, decoder)
        right = (right_block(each, x, memory, None, decoder) for each in weights)
        if any(_agree(plain, each, hidden) for each in right):
            failure.misconception = "mask-nan"  # without the mask it is right
    return failure


def _masked_output(
    layer: Layer, x: Tensor, memory: Tensor, padding: Tensor | None, decoder: bool
) -> Tensor:
    """The output; what raises with padding alone is told by the batches that it takes."""

    def output(samples: int, padding: Tensor | None) -> Tensor:
        rows = torch.arange(samples) % len(x)
        hidden = None if padding is None else padding[rows]
        return block_output(layer, x[rows], *([memory[rows]] if decoder else []), hidden)

    if padding is None:
        return output(len(x), None)
    with (
        raises_unlike("mask-on-heads", lambda: output(N_HEADS, padding)),
        raises_unlike("mask-shape", lambda: output(x.shape[1], padding)),
    ):
        return output(len(x), padding)


def _difference(
    weights: list[BlockWeights],
    got: Tensor,
    x: Tensor,
    memory: Tensor,
    allowed: Tensor | None,
    hidden: Tensor | None,
    decoder: bool,
) -> CheckFailure:
    """The failure for a block with other values, diagnosed under each reading in turn."""
    seen = torch.ones(x.shape[:2], dtype=torch.bool) if hidden is None else ~hidden
    misconception, sentence = None, None
    expected = got
    for each in weights:
        expected = right_block(each, x, memory, allowed, decoder)
        arguments = (each, N_HEADS, x, memory, allowed) if decoder else (each, N_HEADS, x, allowed)
        candidates = (
            (name, partial(lambda mutant, given: mutant(*given)[seen], mutant, arguments))
            for name, variants in (DECODER_MUTANTS if decoder else ENCODER_MUTANTS).items()
            for mutant in variants
        )
        ids = matching(got[seen], expected[seen], candidates)
        if not decoder and len(ids) > 1:
            ids = _told_by_padded_rows(ids, got, arguments, seen)
        misconception, sentence = describe(ids, padding=True)
        if misconception is not None:
            break
    what = f"With the same weights: {value_message('the output', got)}"
    padding = None if allowed is None else ~allowed[:, 0, 0]
    name = "memory_key_padding_mask" if decoder else "key_padding_mask"
    extra = {"memory": memory if decoder else None, name: padding}
    shown = shown_inputs(x=x, **extra, n_heads=N_HEADS, d_ff=D_FF)
    return CheckFailure(
        f"{what} {sentence or ''}".strip(), show(expected) if weights else None, show(got), shown,
        misconception,
    )  # fmt: skip


def _told_by_padded_rows(
    ids: list[str], got: Tensor, arguments: tuple[Any, ...], seen: Tensor
) -> list[str]:
    """The ids, those first that agree at padded positions too: a mask of queries shows only there.

    Such a mask leaves NaN there, or equal weights, by the number that it fills in.
    """
    filled = got[~seen].nan_to_num(nan=math.inf)
    agreeing = [
        name
        for name in ids
        if any(
            torch.allclose(mutant(*arguments)[~seen], filled, rtol=1e-3, atol=1e-3)
            for mutant in ENCODER_MUTANTS[name]
        )
    ]
    if not agreeing and bool(torch.isnan(got[~seen]).any()):
        agreeing = [name for name in ids if name == "mask-on-query-axis"]
    return [*agreeing, *(name for name in ids if name not in agreeing)]


def _unreadable(
    error: Unreadable, layer: Layer, fresh: Mapping[str, Tensor], draw: Draw, decoder: bool
) -> CheckFailure:
    """The failure for a block that was not read: wrong if it has too few or many parameters."""
    attentions = 2 if decoder else 1
    count = sum(value.numel() for value in fresh.values())
    allowed = allowed_counts(1, attentions, D_MODEL, D_FF)
    if count not in allowed:
        layer.set_parameters(dict(fresh))
        few = 0 < count < allowed[0]
        told = _told_by_answers(layer, draw, attentions, D_MODEL, D_FF) if few else None
        return CheckFailure(
            f"The block cannot compute what the recipe says, since {error}.",
            f"{allowed[0]:,} parameters (or {D_MODEL} more for each bias)",
            f"{count:,}: {listed(fresh, 16)}",
            f"d_model = {D_MODEL}, d_ff = {D_FF}",
            told or _count_misconception(fresh, 1, attentions, D_MODEL, D_FF),
        )
    return CheckFailure(
        f"The block's values could not be compared, since {error}; a person must look.",
        "the values of the reference with the same weights",
        f"parameters {listed(fresh, 16)}",
        status="review",
    )


def _agree(got: Tensor, expected: Tensor, padding: Tensor | None) -> bool:
    """Whether two outputs agree at the positions that are not padded."""
    if padding is not None:
        got, expected = got[~padding], expected[~padding]
    return is_close(got, expected, rtol=1e-3, atol=1e-4)
