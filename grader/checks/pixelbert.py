"""Checks of a classifier of 8 × 8 images that reads patches: images (B, 8, 8) -> logits (B, C)."""

import math
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.checks.blocks import random_block, random_values
from grader.checks.classifier import logits
from grader.checks.draw import Draw
from grader.checks.parameters import is_matrix, listed
from grader.errors import CheckFailure
from grader.student import Definition, Layer

SIDE = 8  # pixels of an image
WIDTH, CLASSES = 18, 9
PATCH = 4  # rows and columns of a patch; then there are four patches
SIZES = {"n_classes": CLASSES, "patch_size": PATCH, "d_model": WIDTH, "n_heads": 3, "d_ff": 10}
# With these sizes, of all parameters with fewer than d_model² elements only those of patches,
# positions and classes have an axis of:
OUTER = (PATCH**2, PATCH, 4, 5, 2, CLASSES)


def random_model(definition: Definition, draw: Draw, **arguments: Any) -> Layer:
    """A model of the submission, of small sizes unless others are given, with random parameters."""
    return random_block(definition, draw, **{**SIZES, **arguments})


def positions(model: Layer, patch_size: int) -> list[str]:
    """The names of the learned positions: a row for each patch, and perhaps one for [CLS].

    They may also be a table of rows and one of columns, or have their axes in any order.
    """
    side = SIDE // patch_size
    parameters = model.parameters()
    found = []
    for name, parameter in parameters.items():
        shape = [size for size in parameter.value.shape if size != 1]
        if parameter.requires_grad and WIDTH in shape:
            shape.remove(WIDTH)
            if math.prod(shape) in (side**2, side**2 + 1, side) and shape:
                found.append(name)
    if not found:
        raise CheckFailure(
            f"There are no learned positions for {side**2} patches (and perhaps [CLS]).",
            f"a parameter of shape ({side**2 + 1}, {WIDTH}) or ({side**2}, {WIDTH})",
            listed({name: parameter.value for name, parameter in parameters.items()}, 8),
            f"patch_size = {patch_size}, d_model = {WIDTH}",
            "pe-missing",
        )
    return found


def with_equal_positions(model: Layer, draw: Draw) -> None:
    """Give every position the same encoding, so that the order of patches cannot be seen."""
    parameters = model.parameters()
    values = {}
    model.equal_positions("sinusoidal_positional_encoding", WIDTH, (SIDE // PATCH) ** 2)
    try:
        learned = positions(model, PATCH)
    except CheckFailure:
        return  # a table that is not trained, which is level now
    for name in learned:
        value = parameters[name].value
        row = draw.apart(WIDTH) * 0.5
        view = [WIDTH if size == WIDTH else 1 for size in value.shape]
        values[name] = row.view(view).expand_as(value).clone()
    model.set_parameters(values)


def without_exchange(model: Layer, draw: Draw) -> None:
    """Set all matrices to 0 but those of patches, positions and classes.

    Then position 0, where [CLS] stands, knows nothing of the pixels.
    """
    values = {}
    for name, value in random_values(model, draw).items():
        if not is_matrix(value) and value.numel() >= WIDTH**2:
            raise CheckFailure(
                f"The parameter `{name}` holds several matrices at once, so the block could not be "
                "switched off; a person must look.",
                "logits that are read from [CLS]",
                f"{name} {tuple(value.shape)}",
                status="review",
            )
        small = value.numel() < WIDTH**2
        outer = CLASSES in value.shape or (small and any(size in OUTER for size in value.shape))
        inner = is_matrix(value) and not outer
        values[name] = torch.zeros_like(value) if inner else value
    model.set_parameters(values)


def squares_permuted(images: Tensor, order: Tensor) -> Tensor:
    """The images (B, 8, 8) with their four 4 × 4 squares in another order."""
    squares = images.reshape(-1, 2, 4, 2, 4).transpose(2, 3).reshape(-1, 4, 4, 4)
    moved = squares[:, order].reshape(-1, 2, 2, 4, 4).transpose(2, 3)
    return moved.reshape(-1, SIDE, SIDE)


def runs_permuted(images: Tensor, order: Tensor) -> Tensor:
    """The images (B, 8, 8) with their four runs of sixteen pixels, row by row, reordered."""
    return images.reshape(-1, 4, 16)[:, order].reshape(-1, SIDE, SIDE)


def steps(model: Layer, images: Tensor, labels: Tensor, count: int, lr: float) -> list[float]:
    """The losses before each of `count` full-batch steps of AdamW, and after the last.

    The steps are taken here: the submission's model gives logits and gradients, nothing else.
    """
    names = [name for name, p in model.parameters().items() if p.requires_grad]
    weights = {name: p.value.clone().requires_grad_(True) for name, p in model.parameters().items()}
    optimizer = torch.optim.AdamW([weights[name] for name in names], lr=lr)
    classes = int(labels.max()) + 1
    losses = []
    for step in range(count + 1):
        output = logits(model, images, classes).requires_grad_(True)
        loss = F.cross_entropy(output, labels)
        losses.append(loss.item())
        if step == count:
            break
        (probe,) = torch.autograd.grad(loss, output)
        gradients = model.call(images, probe=probe).parameter_gradients or {}
        for name in names:
            weights[name].grad = gradients.get(name)
        optimizer.step()
        model.set_parameters({name: weights[name].detach() for name in names})
    return losses
