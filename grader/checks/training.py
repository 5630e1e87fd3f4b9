"""Checks of training: parameter groups, schedule, and the training loop."""

import itertools
import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from grader.checks.tensors import kind_text
from grader.errors import CheckFailure
from grader.student import Definition, Layer
from grader.worker.answers import Foreign

EPOCHS = 50  # that the assignment trains for
ADAMW_DECAY = 0.01  # what torch.optim.AdamW takes where a group says nothing


def group_decays(define: Definition, model: Layer, weight_decay: float) -> dict[str, list[float]]:
    """For each parameter of a model that is trained, the decay of every group that it is in.

    Args:
        define: the submission's `parameter_groups`.
        model: whose parameters all differ, since they are recognised by their values.
        weight_decay: what is asked for.
    """
    returned = define.call(model, weight_decay, listed=True).returned
    expected = 'groups for torch.optim.AdamW, such as [{"params": [...], "weight_decay": ...}, …]'
    if not isinstance(returned, (list, tuple)) or not returned:
        raise CheckFailure(
            "What came back is no list of parameter groups.", expected, kind_text(returned)
        )
    groups = returned if isinstance(returned[0], Mapping) else [{"params": returned}]
    parameters = model.parameters()
    values = {name: parameter.value for name, parameter in parameters.items()}
    decays: dict[str, list[float]] = {name: [] for name in values}
    for group in groups:
        if not isinstance(group, Mapping) or "params" not in group:
            raise CheckFailure('A group has no "params".', expected, kind_text(group))
        decay = _number(group.get("weight_decay", ADAMW_DECAY))
        if decay is None:
            raise CheckFailure(
                "A group's weight_decay is no number.", expected, str(group["weight_decay"])
            )
        for tensor in _parameters(group["params"]):
            name = next((n for n, value in values.items() if _same(value, tensor)), None)
            if name is None:
                raise CheckFailure(
                    "A group holds something that is no parameter of the model.",
                    "parameters of the model",
                    kind_text(tensor),
                )
            decays[name].append(decay)
    return {name: found for name, found in decays.items() if parameters[name].requires_grad}


def _parameters(params: Any) -> list[Any]:
    """The parameters of a group: one, several, or pairs of name and parameter."""
    if not isinstance(params, (list, tuple)):
        return [params]
    return [
        item[1] if isinstance(item, (list, tuple)) and len(item) == 2 else item for item in params
    ]


def _same(value: Tensor, other: Any) -> bool:
    return isinstance(other, Tensor) and value.shape == other.shape and torch.equal(value, other)


def _number(value: Any) -> float | None:
    """A number, also as a tensor of one element."""
    if isinstance(value, Tensor) and value.numel() == 1:
        value = value.item()
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    return float(value)


def learning_rate(define: Definition, *arguments: float) -> float:
    """What `warmup_cosine` gives, as a finite number."""
    returned = define(*arguments)
    value = _number(returned)
    if value is None and isinstance(returned, Foreign):
        try:
            value = float(returned.text)  # a numpy number shows as its digits
        except ValueError:
            value = None
    if value is None or not math.isfinite(value):
        raise CheckFailure("The learning rate is no finite number.", "a float", kind_text(returned))
    return value


def training_losses(
    define: Definition, model: Layer, input_ids: Tensor, labels: Tensor, **options: Any
) -> list[float]:
    """Train a model as `train` does, and return the losses as numbers."""
    returned = train(define, model, input_ids, labels, **options)
    return read_losses(returned, options.get("epochs", EPOCHS))


def train(
    define: Definition, model: Layer, input_ids: Tensor, labels: Tensor, **options: Any
) -> Any:
    """Train a model with the submission's `train`, and return what it returns.

    Args:
        define: the submission's `train`.
        model: trained in place.
        input_ids: int64 (B, T)
        labels: int64 (B,)
        options: epochs, 50 where not given; lr_max, weight_decay, label_smoothing.
    """
    options = {"epochs": EPOCHS, **options}
    return define.call(
        model, input_ids, labels, train=True, listed=True, omit_none=True, **options
    ).returned


def read_losses(returned: Any, epochs: int = EPOCHS) -> list[float]:
    """The losses that `train` returned, as numbers; tensors of one element count as numbers."""
    expected = f"a list of {epochs} numbers, the mean training loss of each epoch"
    if isinstance(returned, Tensor) and returned.dim() == 1:
        returned = returned.tolist()
    if not isinstance(returned, (list, tuple)):
        raise CheckFailure("`train` returns no list of losses.", expected, kind_text(returned))
    losses = [_number(value) for value in returned]
    wrong = [value for value, loss in zip(returned, losses, strict=True) if loss is None]
    if wrong:
        raise CheckFailure(
            "`train` returns something that is no number among its losses.",
            expected,
            kind_text(wrong[0]),
        )
    if len(losses) != epochs:
        raise CheckFailure(
            f"`train` returns {len(losses)} losses for epochs={epochs}.",
            expected,
            f"{len(losses)} numbers",
            misconception="train-one-epoch" if len(losses) == 1 else None,
        )
    found = [loss for loss in losses if loss is not None]
    if not all(math.isfinite(loss) for loss in found):
        raise CheckFailure("A training loss is not finite.", "finite losses", losses_text(found))
    return found


def losses_text(losses: Sequence[float]) -> str:
    """The first losses and the last, for a message."""
    first = ", ".join(f"{loss:.4f}" for loss in losses[:4])
    last = ", ".join(f"{loss:.4f}" for loss in losses[-2:])
    return f"{first}, …, {last}"


def smoothed_floor(label_smoothing: float, n_classes: int) -> float:
    """The least that a label-smoothed cross-entropy can be: the entropy of its target."""
    rest = label_smoothing / n_classes
    top = 1 - label_smoothing + rest
    return -(top * math.log(top) + (n_classes - 1) * rest * math.log(rest))


@dataclass(frozen=True)
class Rates:
    """The learning rates of a training, each as a share of lr_max, one a step.

    Attributes:
        steps: in order; those of a schedule that fits are 0, rise to 1, and fall to 0.
    """

    steps: list[float]

    @property
    def mean(self) -> float:
        """Half, for linear warmup and cosine decay, however long the warmup is."""
        return sum(self.steps) / len(self.steps)

    @property
    def end(self) -> float:
        """The mean of the last two rates."""
        return sum(self.steps[-2:]) / len(self.steps[-2:])

    @property
    def rise(self) -> float:
        """How far a rate rises again above an earlier one after the highest."""
        lowest = highest = max(self.steps)
        rise = 0.0
        for rate in self.steps[self.steps.index(highest) :]:
            lowest = min(lowest, rate)
            rise = max(rise, rate - lowest)
        return rise


def rates_of(norms: Sequence[float], weight_decay: float, lr_max: float) -> Rates:
    """The learning rates that a decayed matrix's norms before and after each step tell.

    AdamW multiplies a matrix by 1 - ηλ in each step; its other part must be small beside that.

    Args:
        norms: at each call of the model, and after the last step. Calls between which nothing
            changed belong to one step, as when gradients of several batches are added up.
        weight_decay: λ
        lr_max: what rates are told as shares of.
    """
    pairs = [(before, after) for before, after in itertools.pairwise(norms) if before != after]
    steps = [(1 - after / before) / (weight_decay * lr_max) for before, after in pairs]
    return Rates(steps or [0.0])


def rates_text(rates: Rates) -> str:
    """Ten of the rates at equal distances, and the last, for a message."""
    steps = rates.steps
    chosen = [steps[n * len(steps) // 10] for n in range(10)]
    shown = ", ".join(f"{max(rate, 0):.2f}" for rate in [*chosen, steps[-1]])
    return f"{shown} of lr_max, at {len(steps)} steps' tenths and end"
