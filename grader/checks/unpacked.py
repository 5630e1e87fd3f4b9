"""A layer whose packed vectors are shown one by one: the gains of all norms in one parameter, say.

A search for roles need not know how vectors are packed. What has the shape of one vector but for
axes of size 1 is shown as one, too.
"""

from typing import Any

import torch
from torch import Tensor

from grader.student import CallResult, Layer, Parameter

MOST = 4  # vectors in one parameter


class Unpacked(Layer):
    """The same layer in the worker, with other parameters to see.

    Args:
        layer: what is shown.
        width: D, features of a vector.
    """

    def __init__(self, layer: Layer, width: int) -> None:
        super().__init__(layer._session, layer.name, layer._kept)
        self._shapes: dict[str, torch.Size] = {}  # of parameters that are shown in another form
        self._parts: dict[str, list[str]] = {}
        for name, parameter in super().parameters().items():
            value = parameter.value
            plain = [size for size in value.shape if size != 1]
            if plain == [width] and value.dim() > 1:
                self._parts[name] = [name]
            elif self._is_packed(value, plain, width):
                self._parts[name] = [f"{name}[{index}]" for index in range(plain[0])]
            if name in self._parts:
                self._shapes[name] = value.shape

    @staticmethod
    def _is_packed(value: Tensor, plain: list[int], width: int) -> bool:
        """Whether it is several gains or several shifts, all 1 or all 0 when freshly made."""
        if len(plain) != 2 or plain[1] != width or not 2 <= plain[0] <= min(MOST, width - 1):
            return False
        return bool((value == 1).all()) or bool((value == 0).all())

    @property
    def is_packed(self) -> bool:
        """Whether any parameter is shown as several."""
        return any(len(parts) > 1 for parts in self._parts.values())

    def parameters(self) -> dict[str, Parameter]:
        """The parameters by name, in order of registration, each vector by itself."""
        shown: dict[str, Parameter] = {}
        for name, parameter in super().parameters().items():
            for part, value in self._split(name, parameter.value):
                shown[part] = Parameter(value, parameter.requires_grad)
        return shown

    def set_parameters(self, values: dict[str, Tensor]) -> None:
        """Copy values into parameters, by the names that are shown; of a packed one all or none."""
        joined = dict(values)
        for name, parts in self._parts.items():
            if parts[0] in values:
                rows = [joined.pop(part) for part in parts]
                joined[name] = torch.stack(rows).reshape(self._shapes[name])
        super().set_parameters(joined)

    def call(self, *values: Any, **options: Any) -> CallResult:
        """Call it; the gradients that come back are those of the parameters that are shown."""
        result = super().call(*values, **options)
        found = result.parameter_gradients
        if found is None:
            return result
        shown: dict[str, Tensor | None] = {}
        for name, gradient in found.items():
            if gradient is None:
                shown.update(dict.fromkeys(self._parts.get(name, [name])))
            else:
                shown.update(self._split(name, gradient))
        return CallResult(
            result.returned, result.inputs, result.operations, result.input_gradients, shown
        )

    def _split(self, name: str, value: Tensor) -> list[tuple[str, Tensor]]:
        parts = self._parts.get(name)
        if parts is None:
            return [(name, value)]
        return list(zip(parts, value.reshape(len(parts), -1).unbind(0), strict=True))
