"""Known weights go into an encoder or decoder block: its output must be the reference's.

`key_padding_mask`: True = ignore this key. What stands at a padded position of an encoder's output
means nothing, so it is never compared.
"""

import itertools
import math
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial

import torch
from torch import Tensor

from grader.checks.blocks import (
    allowed_counts,
    block_output,
    count_misconception,
    random_values,
    told_by_answers,
)
from grader.checks.draw import Draw
from grader.checks.explain import with_steps
from grader.checks.parameters import built, listed, values_of
from grader.checks.raised import raises_unlike
from grader.checks.smallest import Axis, Inputs, code_of_module, formula_values, smallest
from grader.checks.tensors import is_close, show, shown_inputs, value_message
from grader.checks.unpacked import Unpacked
from grader.diagnosis import describe, matching
from grader.diagnosis.blocks import STANDARD, BlockReading, BlockSearch, Sizes, Unreadable
from grader.diagnosis.blocks import right_block as right_output
from grader.diagnosis.misconceptions import BOTH
from grader.diagnosis.recipes import decoder_steps, encoder_steps
from grader.diagnosis.steps import Step, step_table
from grader.errors import CheckFailure, StudentError
from grader.student import Definition, Layer
from reference.misconceptions.blocks import (
    DECODER_MUTANTS,
    DECODER_PAIRS,
    ENCODER_MUTANTS,
    ENCODER_PAIRS,
    BlockWeights,
)

# On which a failure is shown: the first that shows it.
SHOWN = (Sizes(4, 2, 3), Sizes(8, 2, 5), STANDARD)
PAIRED = 2  # differences, and readings, for which two mistakes at once are looked for
TABLES = 8  # readings under which the steps of a block are looked up


@dataclass(frozen=True)
class Block:
    """A block of the submission, made with certain sizes.

    Attributes:
        definition: its class, or that of the stack of one layer that stands for it.
        layer: what that class made, its packed vectors shown one by one.
        decoder: whether it is a decoder block.
        sizes: with which it was made.
        further: other arguments that it was made with, such as n_layers.
    """

    definition: Definition
    layer: Unpacked
    decoder: bool
    sizes: Sizes = STANDARD
    further: Mapping[str, int] = field(default_factory=dict)

    def again(self, sizes: Sizes) -> "Block":
        """The same with other sizes."""
        return Block.made(self.definition, self.decoder, sizes, self.further)

    @classmethod
    def made(
        cls,
        definition: Definition,
        decoder: bool,
        sizes: Sizes = STANDARD,
        further: Mapping[str, int] | None = None,
    ) -> "Block":
        """A block that is made anew, its packed vectors shown one by one."""
        layer = built(definition, **(further or {}), **sizes.arguments())
        return cls(definition, Unpacked(layer, sizes.d_model), decoder, sizes, further or {})

    @property
    def names(self) -> tuple[str, ...]:
        """What its inputs are called."""
        if self.decoder:
            return ("x", "memory", "memory_key_padding_mask")
        return ("x", "key_padding_mask")

    def output(self, inputs: Inputs) -> Tensor:
        """The submission's output (B, T, D)."""
        x, *others = (inputs[name] for name in self.names)
        assert x is not None
        return block_output(self.layer, x, *others)

    def right(self, weights: BlockWeights, inputs: Inputs) -> Tensor:
        """The reference's output with these weights."""
        x, memory, allowed = self.read(inputs)
        return right_output(weights, self.sizes.n_heads, x, memory, allowed, self.decoder)

    def read(self, inputs: Inputs) -> tuple[Tensor, Tensor, Tensor | None]:
        """x, the memory (x itself in an encoder), and the mask with True = may attend."""
        x, mask = inputs["x"], inputs[self.names[-1]]
        memory = inputs["memory"] if self.decoder else x
        assert x is not None
        assert memory is not None
        return x, memory, None if mask is None else ~mask[:, None, None, :]

    def seen(self, inputs: Inputs) -> Tensor:
        """Which positions of the output mean something: bool (B, T)."""
        x, mask = inputs["x"], inputs[self.names[-1]]
        assert x is not None
        seen = torch.ones(x.shape[:2], dtype=torch.bool)
        return seen if self.decoder or mask is None else ~mask

    def mutants(
        self, weights: BlockWeights, inputs: Inputs, pairs: bool = False
    ) -> Iterator[tuple[str, Callable[[], Tensor]]]:
        """What gives the output of each wrong block, by id; or of two mistakes at once."""
        x, memory, allowed = self.read(inputs)
        n_heads = self.sizes.n_heads
        if pairs and self.decoder:
            for name, decoder in DECODER_PAIRS:
                yield name, partial(decoder, weights, n_heads, x, memory, allowed)
        if pairs and not self.decoder:
            for name, encoder in ENCODER_PAIRS:
                yield name, partial(encoder, weights, n_heads, x, allowed)
        if pairs:
            return
        if self.decoder:
            for name, decoders in DECODER_MUTANTS.items():
                for decoder in decoders:
                    yield name, partial(decoder, weights, n_heads, x, memory, allowed)
        else:
            for name, encoders in ENCODER_MUTANTS.items():
                for encoder in encoders:
                    yield name, partial(encoder, weights, n_heads, x, allowed)

    def steps(self, weights: BlockWeights, inputs: Inputs) -> list[Step]:
        """The recipe's steps with these weights."""
        x, memory, allowed = self.read(inputs)
        if self.decoder:
            return decoder_steps(weights, self.sizes.n_heads, x, memory, allowed)
        return encoder_steps(weights, self.sizes.n_heads, x, allowed)


@dataclass(frozen=True)
class Difference:
    """An output that is not the right block's.

    Attributes:
        inputs: on which it shows.
        got: the submission's output.
        weights: under the reading that explains it, or else under the likeliest.
        ids: the misconceptions that give this output.
    """

    inputs: Inputs
    got: Tensor
    weights: BlockWeights
    ids: list[str]


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
    return known_block(Block.made(definition, decoder), draw)


def known_block(block: Block, draw: Draw) -> BlockReading:
    """The reading of a block that is right; a CheckFailure for one that is not."""
    fresh = values_of(block.layer)
    try:
        search = _search(block, fresh, draw)
    except Unreadable as error:
        raise _unreadable(error, fresh, block, draw) from None
    try:
        reading = search.read()
    except Unreadable as problem:
        raise _diagnosed(block, search, problem, fresh, draw) from None
    values = random_values(block.layer, draw)
    block.layer.set_parameters(values)
    for padded in (False, True):
        inputs = _inputs(block, draw, padded)
        difference = _difference(block, [reading.weights(values)], inputs)
        if difference is not None:
            raise _failure(block, difference, draw)
    return reading


def _search(block: Block, fresh: Mapping[str, Tensor], draw: Draw) -> BlockSearch:
    """The search for the reading of a block; raises Unreadable."""

    def ask(values: Mapping[str, Tensor], x: Tensor, memory: Tensor) -> Tensor:
        block.layer.set_parameters(dict(values))
        return block.output({"x": x, "memory": memory, block.names[-1]: None})

    reached = partial(_reached, block.layer, draw)
    return BlockSearch(fresh, ask, reached, draw, block.decoder, block.sizes)


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


def _diagnosed(
    block: Block,
    search: BlockSearch,
    problem: Unreadable,
    fresh: Mapping[str, Tensor],
    draw: Draw,
) -> CheckFailure:
    """The failure for a block that no reading fits: with the mistake that explains it, if any."""
    unnamed: list[tuple[Difference, list[BlockWeights], dict[str, Tensor]]] = []
    for readings, off in search.attempts(problem):
        values = random_values(block.layer, draw)
        values.update({name: torch.zeros_like(fresh[name]) for name in off})
        block.layer.set_parameters(values)
        weights = [reading.weights(values) for reading in readings]
        for padded in (False, True):
            inputs = _inputs(block, draw, padded)
            difference = _difference(block, weights, inputs) if weights else None
            if difference is not None and difference.ids:
                return _failure(block, difference, draw)
            if difference is not None:
                unnamed.append((difference, weights, values))
                break  # what is wrong without padding is not explained by it
    for difference, weights, values in unnamed[:PAIRED]:
        two = _explained(block, weights[:PAIRED], difference.got, difference.inputs, pairs=True)
        if two is not None:
            block.layer.set_parameters(values)
            return _failure(block, two, draw)
    if not problem.usual:
        return _unreadable(problem, fresh, block, draw)
    failure = CheckFailure(
        f"The block does not compute what the recipe says: {problem}.",
        "LayerNorm(x + sublayer(x)) for each sublayer",
        "other values",
        ", ".join(f"{name} = {size}" for name, size in block.sizes.arguments().items()),
    )
    return _with_likeliest_steps(failure, block, search, fresh, draw)


def _inputs(block: Block, draw: Draw, padded: bool) -> Inputs:
    """Inputs with a key that scores 0 where there are no biases, and with padding if asked for."""
    length, memory_length, d_model = 4, 5, block.sizes.d_model
    x, memory = draw.normal(2, length, d_model), draw.normal(2, memory_length, d_model)
    (memory if block.decoder else x)[:, 2] = 0.0
    mask = torch.zeros(2, memory_length if block.decoder else length, dtype=torch.bool)
    mask[0, 1], mask[1, -2:] = True, True
    inputs: Inputs = {"x": x, "memory": memory} if block.decoder else {"x": x}
    return {**inputs, block.names[-1]: mask if padded else None}


def _difference(block: Block, weights: list[BlockWeights], inputs: Inputs) -> Difference | None:
    """The difference from the right block under the first reading, explained under any; or None."""
    got = _output(block, inputs)
    seen = _compared(block, inputs)
    if _agree(got, block.right(weights[0], inputs), seen):
        return None
    found = _explained(block, weights, got, inputs)
    if found is None:
        return Difference(inputs, got, weights[0], _nan_under_a_mask(block, weights, got, inputs))
    if block.decoder or len(found.ids) == 1:
        return found
    return replace(found, ids=_told_by_padded_rows(block, found, seen))


def _compared(block: Block, inputs: Inputs) -> Tensor:
    """Which positions of the output on `_inputs` are compared: bool (B, T)."""
    seen = block.seen(inputs)
    if not block.decoder:
        seen[:, 2] = False  # a token of zeros may have so little variance that eps shows
    return seen


def _explained(
    block: Block, weights: list[BlockWeights], got: Tensor, inputs: Inputs, pairs: bool = False
) -> Difference | None:
    """The difference, explained by a mistake, or by two at once, under one of several readings."""
    seen = _compared(block, inputs)
    for each in weights:
        candidates = (
            (name, partial(lambda wrong: wrong()[seen], wrong))
            for name, wrong in block.mutants(each, inputs, pairs)
        )
        ids = matching(got[seen], block.right(each, inputs)[seen], candidates)
        if ids:
            return Difference(inputs, got, each, ids)
    return None


def _nan_under_a_mask(
    block: Block, weights: list[BlockWeights], got: Tensor, inputs: Inputs
) -> list[str]:
    """The misconception where a row is NaN under a mask, and all is right without it."""
    mask = block.names[-1]
    if inputs[mask] is None or not bool(torch.isnan(got).all(-1).any()):
        return []
    bare: Inputs = {**inputs, mask: None}
    plain, seen = block.output(bare), block.seen(bare)
    right = (block.right(each, bare) for each in weights)
    return ["mask-nan"] if any(_agree(plain, each, seen) for each in right) else []


def _output(block: Block, inputs: Inputs) -> Tensor:
    """The output; what raises with padding alone is told by the batches that it takes."""
    x, _, allowed = block.read(inputs)
    if allowed is None:
        return block.output(inputs)

    def batch(samples: int) -> Tensor:
        rows = torch.arange(samples) % len(x)
        chosen = {name: None if v is None else v[rows] for name, v in inputs.items()}
        return block.output(chosen)

    with (
        raises_unlike("mask-on-heads", lambda: batch(block.sizes.n_heads)),
        raises_unlike("mask-shape", lambda: batch(x.shape[1])),
    ):
        return block.output(inputs)


def _told_by_padded_rows(block: Block, difference: Difference, seen: Tensor) -> list[str]:
    """The ids, those first that agree at padded positions too: a mask of queries shows only there.

    Such a mask leaves NaN there, or equal weights, by the number that it fills in.
    """
    got, ids = difference.got, difference.ids
    filled = got[~seen].nan_to_num(nan=math.inf)
    agreeing = [
        name
        for name, wrong in block.mutants(difference.weights, difference.inputs)
        if name in ids and torch.allclose(wrong()[~seen], filled, rtol=1e-3, atol=1e-3)
    ]
    if not agreeing and bool(torch.isnan(got[~seen]).any()):
        agreeing = [name for name in ids if name == "mask-on-query-axis"]
    return list(dict.fromkeys([*agreeing, *ids]))


def _failure(block: Block, difference: Difference, draw: Draw) -> CheckFailure:
    """The failure for a difference: with the steps that were taken, on the smallest input."""
    misconception, sentence = describe(difference.ids, padding=True)
    what = f"With the same weights: {value_message('the output', difference.got)}"
    failure = CheckFailure(
        f"{what} {sentence or ''}".strip(),
        show(block.right(difference.weights, difference.inputs)),
        show(difference.got),
        shown_inputs(**difference.inputs, **block.sizes.arguments()),
        misconception,
    )
    try:
        traced = block.layer.call(*_arguments(block, difference.inputs), trace=True)
    except StudentError:
        return failure  # its time is used up
    steps = block.steps(difference.weights, difference.inputs)
    failure = with_steps(failure, block.layer, steps, traced)
    shown = _small_difference(block, difference.ids, draw) if difference.ids else None
    if shown is not None:
        failure.expected, failure.got, failure.shown = shown
    return failure


def _with_likeliest_steps(
    failure: CheckFailure,
    block: Block,
    search: BlockSearch,
    fresh: Mapping[str, Tensor],
    draw: Draw,
) -> CheckFailure:
    """The failure with the table of steps under the reading that follows the recipe furthest."""
    readings = [reading for _, reading in zip(range(TABLES), search.likely(), strict=False)]
    if not readings:
        return failure
    values = random_values(block.layer, draw)
    values.update({name: torch.zeros_like(fresh[name]) for name in search.unplaced(readings[0])})
    inputs = _inputs(block, draw, padded=False)
    try:
        block.layer.set_parameters(values)
        traced = block.layer.call(*_arguments(block, inputs), trace=True)
    except StudentError:
        return failure  # its time is used up
    recipes = [block.steps(reading.weights(values), inputs) for reading in readings]
    tables = [step_table(steps, traced.events or []) for steps in recipes]
    reached = [table.reached if table is not None else 0 for table in tables]
    return with_steps(failure, block.layer, recipes[reached.index(max(reached))], traced)


def _arguments(block: Block, inputs: Inputs) -> list[Tensor | None]:
    return [inputs[name] for name in block.names]


Shown = tuple[str, str, str]  # expected, got, and the code that shows it


def _small_difference(block: Block, ids: list[str], draw: Draw) -> Shown | None:
    """The mistake on the smallest block and input that show it; None where none small does."""
    for sizes in SHOWN:
        try:
            small = block.again(sizes)
            found = _difference_in(small, ids[0], draw)
        except (StudentError, CheckFailure, Unreadable):
            continue
        if found is not None:
            return found
    return None


def _difference_in(block: Block, name: str, draw: Draw) -> Shown | None:
    """The mistake of that id on the smallest input of one block, its weights set by a formula."""
    if block.layer.is_packed:
        return None  # no line of code sets such parameters one by one
    fresh = values_of(block.layer)
    search = _search(block, fresh, draw)
    try:
        attempts: Iterator[tuple[list[BlockReading], list[str]]] = iter([([search.read()], [])])
    except Unreadable as problem:
        attempts = search.attempts(problem)
    for readings, off in attempts:
        values = formula_values(fresh, off)
        block.layer.set_parameters(values)
        for padded in (False, True):
            inputs = _inputs(block, draw, padded)
            got = block.output(inputs)
            for reading in readings:
                weights = reading.weights(values)
                wrong = _explaining(block, weights, inputs, got, name)
                if wrong is not None:
                    shows = partial(_shows, block, weights, name, wrong)
                    inputs = smallest(inputs, _axes(block), shows)
                    return _shown(block, inputs, weights, off)
    return None


def _explaining(
    block: Block, weights: BlockWeights, inputs: Inputs, got: Tensor, name: str
) -> int | None:
    """The number of the mutant of that id which gives the submission's output."""
    for number, (other, wrong) in enumerate(block.mutants(weights, inputs, pairs=BOTH in name)):
        if other == name and _plainly(block, weights, inputs, got, wrong):
            return number
    return None


def _shows(block: Block, weights: BlockWeights, name: str, mutant: int, inputs: Inputs) -> bool:
    """Whether the output is plainly wrong, and just as a mutant's is, known by id and number."""
    mask = inputs[block.names[-1]]
    if mask is not None and bool(mask.all(-1).any()):
        return False  # undefined
    mutants = block.mutants(weights, inputs, pairs=BOTH in name)
    _, wrong = next(itertools.islice(mutants, mutant, None))
    return _plainly(block, weights, inputs, block.output(inputs), wrong)


def _plainly(
    block: Block,
    weights: BlockWeights,
    inputs: Inputs,
    got: Tensor,
    wrong: Callable[[], Tensor],
) -> bool:
    """Whether an output is so far from the right one that it shows, and the wrong one itself."""
    seen = block.seen(inputs)
    right = block.right(weights, inputs)[seen]
    plain = float((got[seen] - right).abs().max()) > 0.02
    return plain and is_close(got[seen], wrong()[seen], rtol=1e-3, atol=1e-4)


def _axes(block: Block) -> tuple[Axis, ...]:
    mask = block.names[-1]
    if block.decoder:
        return (
            Axis({"x": -3, "memory": -3, mask: -2}),
            Axis({"memory": -2, mask: -1}),
            Axis({"x": -2}),
        )
    return (Axis({"x": -3, mask: -2}), Axis({"x": -2, mask: -1}))


def _shown(block: Block, inputs: Inputs, weights: BlockWeights, off: list[str]) -> Shown:
    """Expected and got on some inputs, and the code that shows it."""
    seen = block.seen(inputs)
    right, got = block.right(weights, inputs)[seen], block.output(inputs)[seen]
    made = [*block.further.values(), *block.sizes.arguments().values()]
    code = code_of_module(block.definition, made, inputs, off)
    return show(right), show(got), code


def _unreadable(
    error: Unreadable, fresh: Mapping[str, Tensor], block: Block, draw: Draw
) -> CheckFailure:
    """The failure for a block that was not read: wrong if it has too few or many parameters."""
    attentions = 2 if block.decoder else 1
    d_model, d_ff = block.sizes.d_model, block.sizes.d_ff
    count = sum(value.numel() for value in fresh.values())
    allowed = allowed_counts(1, attentions, d_model, d_ff)
    if count not in allowed:
        block.layer.set_parameters(dict(fresh))
        few = 0 < count < allowed[0]
        told = told_by_answers(block.layer, draw, attentions, d_model, d_ff) if few else None
        return CheckFailure(
            f"The block cannot compute what the recipe says, since {error}.",
            f"{allowed[0]:,} parameters (or {d_model} more for each bias)",
            f"{count:,}: {listed(fresh, 16)}",
            f"d_model = {d_model}, d_ff = {d_ff}",
            told or count_misconception(fresh, 1, attentions, d_model, d_ff),
        )
    return CheckFailure(
        f"The block's values could not be compared, since {error}; a person must look.",
        "the values of the reference with the same weights",
        f"parameters {listed(fresh, 16)}",
        status="review",
    )


def _agree(got: Tensor, expected: Tensor, seen: Tensor) -> bool:
    """Whether two outputs agree at the positions that mean something."""
    return is_close(got[seen], expected[seen], rtol=1e-3, atol=1e-4)
