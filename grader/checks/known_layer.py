"""Known weights go into a multi-head attention: its output must be the reference's.

Masks: True = may attend.
"""

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial

from torch import Tensor

from grader.checks.attention import arguments_of, need_output, need_weights
from grader.checks.draw import Draw
from grader.checks.explain import with_steps
from grader.checks.layer import layer_answer, layer_output, randomise
from grader.checks.parameters import built, listed, values_of
from grader.checks.smallest import Axis, Inputs, code_of_module, formula_values, smallest
from grader.checks.tensors import is_close, show, shown_inputs
from grader.diagnosis import Reading, describe, matching, read_by_gradients, read_by_name
from grader.diagnosis.misconceptions import BOTH
from grader.diagnosis.recipes import layer_steps
from grader.errors import CheckFailure, StudentError
from grader.student import Definition, Layer
from reference.misconceptions import LAYER_MUTANTS
from reference.misconceptions.layer import LAYER_PAIRS, LAYER_VARIANTS
from reference.misconceptions.layer import layer as reference_layer

ATTEMPTS = 4  # of reading roles by gradients, each with other random parameters
SMALL = ((1, 1), (2, 1), (2, 2), (4, 2))  # d_model and n_heads on which a failure is shown


@dataclass(frozen=True)
class Known:
    """A layer whose parameters' roles are known.

    Attributes:
        layer: the submission's.
        n_heads: H.
        reading: its weights by role.
        item: what is compared: 0 for the output, 1 for the weights.
    """

    layer: Layer
    n_heads: int
    reading: Reading
    item: int

    def got(self, inputs: Inputs) -> Tensor:
        """The submission's answer; a CheckFailure where it has another form."""
        query, key, value, mask = arguments_of(inputs)
        answer = layer_answer(self.layer, self.n_heads, query, key, value, mask)
        if self.item:
            return need_weights(answer, (len(query), self.n_heads, query.shape[1], key.shape[1]))
        return need_output(answer, tuple(query.shape))

    def right(self, inputs: Inputs) -> Tensor:
        """The reference's answer."""
        arguments = (self.reading.weights, self.n_heads, *arguments_of(inputs))
        return reference_layer(*arguments)[self.item]

    def mutants(
        self, inputs: Inputs, pairs: bool = False
    ) -> Iterator[tuple[str, Callable[[], Tensor]]]:
        """What gives the answer of each wrong layer, by id; or of two mistakes at once."""
        arguments = (self.reading.weights, self.n_heads, *arguments_of(inputs))
        for name, mutant in LAYER_PAIRS if pairs else (*LAYER_MUTANTS.items(), *LAYER_VARIANTS):
            yield name, partial(lambda wrong: wrong(*arguments)[self.item], mutant)


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
    guess: Difference | None = None
    item = 1 if weights else 0
    layer = built(definition, d_model=d_model, n_heads=n_heads)
    parameters = randomise(layer, draw, d_model)
    reading = read_by_name(parameters, d_model)
    if reading is not None:
        guess = _difference(Known(layer, n_heads, reading, item), draw)
        if guess is None:
            return
    for _ in range(ATTEMPTS):
        reading = _read(layer, parameters, d_model, n_heads, draw)
        if reading is not None:
            found = _difference(Known(layer, n_heads, reading, item), draw)
            if found is None:
                return
            raise _failure(found if found.ids or guess is None else guess, definition, draw)
        parameters = randomise(layer, draw, d_model)
    if guess is not None and guess.ids:
        raise _failure(guess, definition, draw)
    raise CheckFailure(
        "The layer's parameters could not be matched with W_Q, W_K, W_V and W_O, so its values "
        "could not be compared; a person must look.",
        "the values of the reference with the same weights",
        f"parameters {listed(parameters, 12)}",
        status="review",
    )


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


def _read(
    layer: Layer, parameters: dict[str, Tensor], d_model: int, n_heads: int, draw: Draw
) -> Reading | None:
    """The roles of a layer's parameters as their gradients tell."""

    def gradients(
        query: Tensor, key: Tensor, value: Tensor, probe: Tensor
    ) -> dict[str, Tensor | None]:
        return layer.call(query, key, value, probe=probe).parameter_gradients or {}

    return read_by_gradients(parameters, gradients, d_model, n_heads, draw.generator)


@dataclass(frozen=True)
class Difference:
    """An answer that is not the reference's.

    Attributes:
        known: the layer.
        parameters: its values, by name.
        inputs: on which it shows.
        got: the answer.
        ids: the misconceptions that give it.
    """

    known: Known
    parameters: dict[str, Tensor]
    inputs: Inputs
    got: Tensor
    ids: list[str]


def _difference(known: Known, draw: Draw) -> Difference | None:
    """The first difference from the reference under a reading, or None."""
    d_model = known.reading.weights["o"].shape[0]
    for length, masked in ((4, False), (4, True), (300, False)):
        inputs = _inputs(draw, d_model, length, masked)
        right = known.right(inputs)
        try:
            got = known.got(inputs)
        except CheckFailure as failure:
            if known.item and not _output_is_right(known, inputs):
                failure.misconception = None  # the weights are wrong for what the output shows
            raise
        if is_close(got, right, rtol=1e-3, atol=1e-4):
            continue
        if known.item and _output_is_right(known, inputs):
            ids = ["weights-returned-wrong"]
        else:
            ids = matching(got, right, known.mutants(inputs))
        ids = ids or matching(got, right, known.mutants(inputs, pairs=True))
        return Difference(known, values_of(known.layer), inputs, got, ids)
    return None


def _output_is_right(known: Known, inputs: Inputs) -> bool:
    """Whether the output is the reference's, so that only the weights are wrong."""
    outputs = replace(known, item=0)
    return is_close(outputs.got(inputs), outputs.right(inputs), rtol=1e-3, atol=1e-4)


def _inputs(draw: Draw, d_model: int, length: int, masked: bool) -> Inputs:
    key, value = draw.normal(2, length, d_model), draw.normal(2, length, d_model)
    return {
        "query": draw.normal(2, 3, d_model),
        "key": key,
        "value": value,
        "mask": draw.mask(2, 1, 3, length) if masked else None,
    }


def _failure(difference: Difference, definition: Definition, draw: Draw) -> CheckFailure:
    """The failure for a difference: with the steps that were taken, on the smallest input."""
    known, inputs = difference.known, difference.inputs
    misconception, sentence = describe(difference.ids)
    what = "the weights are" if known.item else "the output is"
    under = " under a mask" if inputs["mask"] is not None else ""
    failure = CheckFailure(
        f"With the same projection weights, {what} not the reference's{under}. "
        f"{sentence or ''}".strip(),
        show(known.right(inputs)),
        show(difference.got),
        shown_inputs(**inputs, n_heads=known.n_heads),
        misconception,
    )
    explained = f"{misconception} {known.item}"  # the output's steps earn points, too
    if misconception is not None and not definition.explains(explained):
        return failure
    try:
        known.layer.set_parameters(difference.parameters)
        traced = known.layer.call(*arguments_of(inputs), trace=True)
    except StudentError:
        return failure  # its time is used up
    steps = layer_steps(known.reading.weights, known.n_heads, *arguments_of(inputs))
    failure = with_steps(failure, known.layer, steps[:-3] if known.item else steps, traced)
    name = difference.ids[0] if difference.ids else None
    for d_model, n_heads in SMALL:
        try:
            shown = _small_difference(definition, d_model, n_heads, name, known.item, draw)
        except (StudentError, CheckFailure):
            continue
        if shown is not None:
            failure.expected, failure.got, failure.shown = shown
            break
    return failure


def _small_difference(
    definition: Definition, d_model: int, n_heads: int, name: str | None, item: int, draw: Draw
) -> tuple[str, str, str] | None:
    """Expected, got and the code that shows it on a layer of that size; None where it is right."""
    layer = built(definition, d_model=d_model, n_heads=n_heads)
    values = formula_values(values_of(layer), [])
    layer.set_parameters(values)
    for reading in (
        read_by_name(values, d_model),
        _read(layer, values, d_model, n_heads, draw),
    ):
        if reading is None:
            continue
        known = Known(layer, n_heads, reading, item)
        fails = partial(_shows, known, name)
        for masked in (False, True):
            inputs = _inputs(draw, d_model, 3, masked)
            if fails(inputs):
                inputs = smallest(inputs, _AXES, fails)
                code = code_of_module(definition, (d_model, n_heads), inputs)
                return show(known.right(inputs)), show(known.got(inputs)), code
    return None


_AXES = (
    Axis({"query": -3, "key": -3, "value": -3, "mask": -4}),
    Axis({"query": -2, "mask": -2}),
    Axis({"key": -2, "value": -2, "mask": -1}),
)


def _shows(known: Known, name: str | None, inputs: Inputs) -> bool:
    """Whether the answer is plainly wrong, in the way that the id says where there is one."""
    mask = inputs["mask"]
    if mask is not None and bool((mask == 0).all(-1).any()):
        return False  # undefined
    got, right = known.got(inputs), known.right(inputs)
    if not float((got - right).abs().max()) > 0.02:
        return False
    return name in (None, "weights-returned-wrong") or any(
        is_close(got, wrong(), rtol=1e-3, atol=1e-4)
        for other, wrong in known.mutants(inputs, pairs=BOTH in name)
        if other == name
    )
