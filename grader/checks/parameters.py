"""Checks of a module's parameters: how many, and whether they train."""

import re
from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from grader.checks.tensors import kind_text
from grader.errors import CheckFailure, StudentRaised
from grader.student import Definition, Layer

TOKENS = {"x", "query", "key", "value", "memory"}  # arguments of a forward that are (B, T, D)


def built(definition: Definition, **arguments: Any) -> Layer:
    """The module that a class makes; a CheckFailure when it makes something else."""
    layer = definition(**arguments)
    if not isinstance(layer, Layer):
        raise CheckFailure(
            f"{definition.spelling}(…) does not make a module.", "an nn.Module", kind_text(layer)
        )
    if definition.has_lazy_layers and "d_model" in arguments:
        _materialise(layer, arguments["d_model"])
    return layer


def _materialise(layer: Layer, d_model: int) -> None:
    """Call a layer once, so that layers such as `nn.LazyLinear` make their parameters."""
    layer(*_tokens(layer, d_model))


def _tokens(layer: Layer, d_model: int) -> list[Tensor | None]:
    """Arguments for a layer: a batch of one with two tokens, and no masks."""
    tokens = torch.zeros(1, 2, d_model)
    return [tokens if name in TOKENS else None for name in layer.arguments]


def is_matrix(value: Tensor) -> bool:
    """Whether a parameter has two dimensions or more, those of size 1 not counted."""
    return sum(size > 1 for size in value.shape) > 1


def listed(values: Mapping[str, Tensor], most: int) -> str:
    """The first few parameters with their shapes, for a message; "none" where there is none."""
    first = list(values.items())[:most]
    return ", ".join(f"{name} {tuple(value.shape)}" for name, value in first) or "none"


def without_numbers(name: str) -> str:
    """A parameter's name with every number as "#"."""
    return re.sub(r"\d+", "#", name)


def values_of(layer: Layer) -> dict[str, Tensor]:
    """The values of a layer's parameters by name."""
    return {name: parameter.value for name, parameter in layer.parameters().items()}


def assert_parameter_count(
    layer: Layer, matrices: int, d_model: int, biases: int, what: str
) -> int:
    """See that a layer has `matrices`·D² parameters, and D more for each of up to `biases` biases.

    Counts the elements of the arrays themselves, not what the module says of them.

    Args:
        layer: the submission's layer.
        matrices: how many D×D matrices the recipe has.
        d_model: D; greater than `biases`, so that the count is unambiguous.
        biases: how many of the projections may have a bias.
        what: where the matrices come from, for the message.

    Returns:
        The count.
    """
    values = values_of(layer)
    count = sum(value.numel() for value in values.values())
    bare = matrices * d_model**2
    if count in [bare + bias * d_model for bias in range(biases + 1)]:
        return count
    misconception = None
    advice = ""
    if count < bare:
        missing = bare - count
        misconception = _without_parameters(layer, d_model) if count == 0 else None
        advice = (
            f" {missing} are missing: is a projection left out, shared, kept in a plain list, "
            "or made outside __init__?"
        )
    raise CheckFailure(
        f"The layer has {count} parameters, but {what} have {bare}, "
        f"and {d_model} more for each bias.{advice}",
        f"{bare} (or {bare + d_model} … {bare + biases * d_model} with biases)",
        f"{count}: {listed(values, 12)}",
        f"d_model = {d_model}",
        misconception,
    )


def _without_parameters(layer: Layer, d_model: int) -> str:
    """What a layer without parameters means: it is not written yet, or holds them unregistered."""
    try:
        written = layer(*_tokens(layer, d_model)) is not None
    except StudentRaised as error:
        written = error.kind != "NotImplementedError"
    return "layers-unregistered" if written else "not-implemented"


def assert_trainable(layer: Layer) -> None:
    """See that every parameter has requires_grad."""
    frozen = [name for name, p in layer.parameters().items() if not p.requires_grad]
    if frozen:
        raise CheckFailure(
            "Some parameters are frozen.",
            "requires_grad = True for every parameter",
            f"requires_grad = False for {', '.join(frozen[:6])}",
        )
