"""Checks of a classifier that reads a [CLS] vector: input_ids (B, T) -> logits (B, C).

What lies between is open: how [CLS] is kept, norms on embeddings, a hidden layer in the head. So
parameters are told apart by what changes with the number of layers, and by shapes.
"""

import re
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from grader.checks.blocks import random_block, random_values
from grader.checks.draw import Draw
from grader.checks.parameters import built, is_matrix, values_of, without_numbers
from grader.checks.tensors import assert_tensor, kind_text
from grader.diagnosis.blocks import shared_start
from grader.errors import CheckFailure
from grader.student import Definition, Layer

SIZES = {"vocab_size": 13, "n_classes": 5, "d_model": 16, "n_heads": 4, "d_ff": 24, "max_len": 9}
VOCAB, CLASSES, WIDTH = 13, 5, 16


def classifier(definition: Definition, **arguments: Any) -> Layer:
    """A classifier of the submission, of small sizes unless others are given, without dropout."""
    return built(definition, **{**SIZES, "dropout": 0.0, **arguments})


def random_classifier(definition: Definition, draw: Draw, **arguments: Any) -> Layer:
    """The same with random parameters, all of them apart."""
    return random_block(definition, draw, **{**SIZES, "dropout": 0.0, **arguments})


def sees(definition: Definition, draw: Draw, first: Tensor, second: Tensor, **sizes: Any) -> bool:
    """Whether two inputs give different logits, with one of a few random sets of parameters.

    One set may have attention so sharp that a token hardly counts.
    """
    model = classifier(definition, **sizes)
    for _ in range(4):
        model.set_parameters(random_values(model, draw))
        one, other = logits(model, first), logits(model, second)
        if float((one - other).abs().max()) > 2e-5:
            return True
    return False


def sentences(*rows: list[int]) -> Tensor:
    """Token ids as a tensor (B, T)."""
    return torch.tensor(rows)


def logits(model: Layer, inputs: Tensor, classes: int = CLASSES) -> Tensor:
    """The logits (B, C) of a model; a CheckFailure that says what came where they are not that."""
    returned = model(inputs)
    shape = (len(inputs), classes)
    items = returned if isinstance(returned, (tuple, list)) else ()
    first = next((item for item in items if isinstance(item, Tensor)), None)
    if first is not None and tuple(first.shape) == shape:
        returned = first
    if isinstance(returned, Mapping):
        raise CheckFailure(
            "The model returns a dict; the assignment asks for the logits.",
            f"a tensor of shape {shape}",
            kind_text(returned),
        )
    if isinstance(returned, Tensor) and returned.shape[-1:] == (classes,) and returned.dim() == 3:
        raise CheckFailure(
            "The model gives logits for every position; it should give those of [CLS] alone.",
            f"a tensor of shape {shape}",
            kind_text(returned),
        )
    return assert_tensor(returned, shape, "The logits")


def block_parameters(definition: Definition) -> set[str]:
    """The parameters of a model of two layers that lie in its blocks, by name.

    They are those whose names, apart from numbers, occur more often with more layers; or else,
    where each block lies inside the one before, what a further block is inserted after.
    """
    one, two = (_signatures(classifier(definition, n_layers=n)) for n in (1, 2))
    plain_one, plain_two = ([plain for plain, _ in names.values()] for names in (one, two))
    growing = {plain for plain in plain_two if plain_two.count(plain) > plain_one.count(plain)}
    found = {name for name, (plain, _) in two.items() if plain in growing}
    size = len(two) - len(one)
    if size > 0 and len(found) != 2 * size:
        ends = [
            [(plain.rpartition(".")[2], shape) for plain, shape in n.values()] for n in (one, two)
        ]
        start = len(one) - shared_start(ends[0][::-1], ends[1][::-1])
        found = set(list(two)[start : start + 2 * size])
    if not found:
        raise CheckFailure(
            "The model has the same parameters for 1 layer and for 2.",
            "parameters for every layer",
            "the same names",
            "n_layers = 1, 2",
        )
    return found


def _signatures(model: Layer) -> dict[str, tuple[str, tuple[int, ...]]]:
    """The names of parameters without numbers, and their shapes, by name."""
    return {
        name: (without_numbers(name), tuple(value.shape))
        for name, value in values_of(model).items()
    }


def without_exchange(model: Layer, blocks: set[str], draw: Draw) -> dict[str, Tensor]:
    """Random values for all parameters, with the matrices of the blocks at 0.

    Then no position reads another one: what is pooled at a position depends on its token alone.
    """
    fresh = values_of(model)
    return {
        name: torch.zeros_like(value) if name in blocks and holds_weights(fresh[name]) else value
        for name, value in random_values(model, draw).items()
    }


def holds_weights(fresh: Tensor) -> bool:
    """Whether a freshly made parameter of a block holds weight matrices, in whatever shape.

    Norms begin with ones and zeros, biases have fewer elements than the least matrix of a head.
    """
    is_norm = bool(((fresh == 0) | (fresh == 1)).all()) and bool((fresh == 1).any())
    return fresh.numel() >= WIDTH * WIDTH // 4 and not is_norm


def assert_pools_cls(definition: Definition, draw: Draw) -> None:
    """See that the logits come from position 0, which holds [CLS], and from no other.

    With the blocks' matrices at 0, position 0 knows nothing of the tokens, so no token may change
    the logits.
    """
    model = classifier(definition, n_layers=2)
    model.set_parameters(without_exchange(model, block_parameters(definition), draw))
    base = [3, 7, 4, 9]
    before = logits(model, sentences(base))[0]

    def change(*tokens: int) -> Tensor:
        return logits(model, sentences(list(tokens)))[0] - before

    changes = {
        "first": change(5, 7, 4, 9), "middle": change(3, 11, 4, 9), "last": change(3, 7, 4, 6),
        "longer": change(3, 7, 4, 9, 2),
    }  # fmt: skip
    moved = {name: float(by.abs().max()) > 1e-4 for name, by in changes.items()}
    if not any(moved.values()):
        return
    misconception = None
    if not (moved["first"] or moved["middle"] or moved["last"]):
        misconception = "cls-appended"
    elif moved["last"] and not moved["first"] and not moved["middle"]:
        misconception = "pool-last"
    elif moved["first"] and moved["middle"] and moved["last"]:
        both = change(5, 11, 4, 9)
        additive = torch.allclose(both, changes["first"] + changes["middle"], atol=1e-4)
        misconception = "pool-mean" if additive else "pool-max"
        if _reads_every_position(definition):
            misconception = "pool-flatten"
    elif moved["first"] and not moved["middle"]:
        misconception = "cls-missing"
    where = " and ".join(name for name in ("first", "middle", "last") if moved[name])
    what = f"the {where} token" if where else "the number of tokens"
    raise CheckFailure(
        "The logits are not read from [CLS] at position 0 alone: with attention and feed-forward "
        f"weights at 0, {what} still changes them.",
        "logits that depend on position 0 alone",
        "logits that depend on other positions",
        f"input_ids = torch.tensor([{base}])",
        misconception,
    )


def _reads_every_position(definition: Definition) -> bool:
    """Whether the matrix of the classes grows with max_len."""
    short, long = (
        {n: v.shape for n, v in values_of(classifier(definition, max_len=n)).items()}
        for n in (9, 31)
    )
    return any(CLASSES in shape and shape != short.get(name) for name, shape in long.items())


def assert_cls_is_learned(definition: Definition, draw: Draw) -> None:
    """See that [CLS] is a parameter, or has an embedding, that a gradient reaches."""
    model = classifier(definition, n_layers=2)
    blocks = block_parameters(definition)
    values = without_exchange(model, blocks, draw)
    model.set_parameters(values)
    gradients = model.call(sentences([3, 7, 4]), probe=draw.normal(1, CLASSES)).parameter_gradients
    for name, gradient in (gradients or {}).items():
        if gradient is None or name in blocks or float(gradient.abs().max()) < 1e-7:
            continue
        if may_be_cls(name, values):
            return
    raise CheckFailure(
        "No gradient reaches a [CLS] vector: it is no parameter and no embedding.",
        "a learned [CLS], such as nn.Parameter(torch.randn(1, 1, d_model))",
        "a constant, or none",
        misconception="cls-not-learned",
    )


def may_be_cls(
    name: str,
    values: Mapping[str, Tensor],
    width: int = WIDTH,
    tables: Sequence[int] = (VOCAB, VOCAB + 1, VOCAB + 2),
) -> bool:
    """Whether a parameter outside the blocks can be the [CLS] vector or hold it as an embedding.

    Args:
        name: of the parameter.
        values: all parameters.
        width: D.
        tables: numbers of rows of a table that may hold it.
    """
    shape = values[name].shape
    rows = shape[0] if len(shape) == 2 else 0
    if rows in tables or 0 < rows <= 3:
        return shape[-1] == width
    if len(shape) == 2 and shape[1] in tables and shape[0] == width:
        return True  # an embedding as a linear layer over one-hot tokens
    if tuple(size for size in shape if size != 1) != (width,):
        return False
    if re.search(r"cls|class_?tok", name.lower()):
        return True
    prefix = name.rpartition(".")[0]
    siblings = [n for n in values if n != name and n.rpartition(".")[0] == prefix]
    # the bias of a linear layer has its matrix beside it, that of a norm its gain
    return not prefix or not any(is_matrix(values[n]) or values[n].shape == shape for n in siblings)


def decay_roles(definition: Definition) -> tuple[Layer, set[str], set[str]]:
    """A model, its weight matrices, which decay, and its biases and norm parameters, which do not.

    Embeddings, [CLS] and what cannot be told are in neither set: either group is right for them.
    """
    model = classifier(definition, n_layers=2)
    blocks = block_parameters(definition)
    fresh = {n: p.value for n, p in model.parameters().items() if p.requires_grad}
    matrices, vectors = set(), set()
    for name, value in fresh.items():
        if holds_weights(value):
            table = any(size in (VOCAB, VOCAB + 1, VOCAB + 2) for size in value.shape)
            if is_matrix(value) and not table:
                matrices.add(name)  # a flat one may hold biases besides: it is in neither set
        elif name in blocks or not may_be_cls(name, fresh):
            vectors.add(name)
    return model, matrices, vectors
