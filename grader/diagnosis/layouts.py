"""The ways in which the weights of an attention can lie in parameters.

Four matrices, W_Q, W_K, W_V and W_O, may be registered one by one, fused in any order of rows, one
for each head, transposed, or as tensors of three and more dimensions. All of these are the axes
role R, head H, feature of a head K and input I in some order, with neighbours joined. So a layout
is found by labelling the axes of a shape, and proved by agreement on values.
"""

import itertools
import math
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from grader.diagnosis.roles import NAMES

Parameters = Mapping[str, Tensor]
Selector = Callable[[Parameters], Tensor]  # one role's weights, read out of all parameters
MAX_LAYOUTS = 500


@dataclass(frozen=True)
class _Group:
    """Parameters of one shape, stacked in the order of registration.

    Attributes:
        names: the parameters.
        shape: of the stack, axes of size 1 left out.
        roles: how many of the four matrices (or biases) it holds.
    """

    names: tuple[str, ...]
    shape: tuple[int, ...]
    roles: int

    def stacked(self, values: Parameters) -> Tensor:
        return torch.stack([values[name].reshape(-1) for name in self.names])


@dataclass(frozen=True)
class _Labels:
    """The axes of a group's stack in memory order, by label."""

    order: tuple[str, ...]
    sizes: tuple[int, ...]
    interleaved: bool | None  # features before heads; None where they are axes of their own

    def read(self, stacked: Tensor, role: int) -> Tensor:
        """The rows (H·K, I) of one role, or (H·K,) of a bias."""
        view = stacked.reshape(self.sizes)
        wanted = [label for label in "RHKI" if label in self.order]
        view = view.permute([self.order.index(label) for label in wanted])
        if "R" in self.order:
            view = view[role]
        return view.flatten(0, 1)


def attention_layouts(
    shapes: Mapping[str, Sequence[int]], d_model: int, n_heads: int
) -> Iterator[dict[str, Selector]]:
    """For each way to read W_Q, W_K, W_V and W_O, a selector for "q", "k", "v" and "o".

    The likeliest come first; at most `MAX_LAYOUTS`. Selectors give (D, D) as in `nn.Linear`, heads
    one after the other in the rows of q, k and v and in the columns of o.

    Args:
        shapes: of the attention's matrices, by name in order of registration; no biases.
        d_model: D.
        n_heads: H; H, d_k, 2, 3 and 4 should differ, or some readings cannot be told apart.
    """
    groups = _groups(shapes, d_model * d_model)
    if groups is None or sum(group.roles for group in groups) != 4:
        return
    slots = [(group, index) for group in groups for index in range(group.roles)]
    labels = {group: _labellings(group, d_model, n_heads, bias=False) for group in groups}
    ranked = (
        (3 * surprise + rank, roles, chosen)
        for surprise, roles in _assignments(slots)
        for rank, chosen in enumerate(_choices(slots, roles, labels))
    )
    # The usual axes under every assignment of roles come before odd axes under the first.
    for _, roles, chosen in sorted(ranked, key=lambda item: item[0])[:MAX_LAYOUTS]:
        yield {
            role: _selector(group, index, how, transposed=role == "o")
            for role, (group, index), how in zip(roles, slots, chosen, strict=True)
        }


def bias_layouts(
    shapes: Mapping[str, Sequence[int]], d_model: int, n_heads: int
) -> Iterator[dict[str, Selector]]:
    """For each way to read the biases of q, k, v, and o if four, a selector for each there is.

    Args:
        shapes: of the biases, by name in order of registration.
        d_model: D.
        n_heads: H.
    """
    groups = _groups(shapes, d_model)
    count = sum(group.roles for group in groups or [])
    if groups is None or not 0 < count <= 4:
        return
    slots = [(group, index) for group in groups for index in range(group.roles)]
    labels = {group: _labellings(group, d_model, n_heads, bias=True) for group in groups}
    # W_O's bias may lie beside the others where all four are fused.
    for roles in itertools.permutations("qkv" if count <= 3 else "qkvo", len(slots)):
        for chosen in itertools.product(*(labels[group] for group in groups)):
            how = dict(zip(groups, chosen, strict=True))
            yield {
                role: _plain_row(group, index)
                if role == "o"
                else _selector(group, index, how[group], transposed=False)
                for role, (group, index) in zip(roles, slots, strict=True)
            }


def _groups(shapes: Mapping[str, Sequence[int]], unit: int) -> list[_Group] | None:
    """Parameters of the same shape together; None where some hold no whole number of roles."""
    by_shape: dict[tuple[int, ...], list[str]] = {}
    for name, shape in shapes.items():
        by_shape.setdefault(tuple(size for size in shape if size != 1), []).append(name)
    groups = []
    for shape, names in by_shape.items():
        roles, rest = divmod(len(names) * math.prod(shape), unit)
        if rest or roles == 0:
            return None
        stack = (len(names), *shape) if len(names) > 1 else shape
        groups.append(_Group(tuple(names), stack, roles))
    return groups


def _labellings(group: _Group, d_model: int, n_heads: int, bias: bool) -> list[_Labels]:
    """The ways to label a group's axes, those of `nn.Linear` with head after head first."""
    sizes = {"R": group.roles, "H": n_heads, "K": d_model // n_heads, "I": d_model}
    labels = "RHK" if bias else "RHKI"
    if group.roles == 1:
        labels = labels.replace("R", "")
    found = []
    for order in itertools.permutations(labels):
        cuts = _cut([sizes[label] for label in order], group.shape)
        if cuts is None:
            continue
        axis = dict(zip(order, cuts, strict=True))
        apart = axis["H"] != axis["K"]
        interleaved = None if apart else order.index("K") < order.index("H")
        found.append(_Labels(order, tuple(sizes[label] for label in order), interleaved))
    return sorted(found, key=lambda labels: bool(labels.interleaved))


def _cut(sizes: Sequence[int], shape: Sequence[int]) -> list[int] | None:
    """For each size the axis of `shape` that it is part of; None where they do not fit."""
    axes = []
    axis, filled = 0, 1
    for size in sizes:
        while axis < len(shape) and filled == shape[axis]:
            axis, filled = axis + 1, 1
        if axis == len(shape) or shape[axis] % (filled * size):
            return None
        axes.append(axis)
        filled *= size
    done = axis == len(shape) - 1 and filled == shape[axis]
    return axes if done else None


def _assignments(slots: Sequence[tuple[_Group, int]]) -> list[tuple[int, tuple[str, ...]]]:
    """The roles of the slots in every order, with how many names speak against each."""

    def surprise(roles: tuple[str, ...]) -> int:
        count = 0
        for role, (group, index) in zip(roles, slots, strict=True):
            if len(group.names) == group.roles:
                name = group.names[index].lower()
                meant = [other for other in "qkvo" if re.search(NAMES[other], name)]
                count += bool(meant) and role not in meant
        for group in dict.fromkeys(group for group, _ in slots):
            mine = "".join(r for r, (other, _) in zip(roles, slots, strict=True) if other is group)
            if len(group.names) == 1 and group.roles > 1:
                spelled = re.search(rf"[qkvo]{{{group.roles}}}", group.names[0].lower())
                count += spelled is not None and spelled[0] != mine
            if len(group.names) > group.roles:
                named = _roles_named(group.names)
                count += len(named) == group.roles and named != mine
        return count

    fitting = [
        roles
        for roles in itertools.permutations("qkvo")
        if not any(
            role == "o" and len(group.names) == 1 and 1 < group.roles < 4
            for role, (group, _) in zip(roles, slots, strict=True)
        )
    ]
    return sorted(((surprise(roles), roles) for roles in fitting), key=lambda pair: pair[0])


def _roles_named(names: Sequence[str]) -> str:
    """The roles that names suggest, in the order in which they come first; "" where one is open."""
    found = []
    for name in names:
        meant = [role for role in "qkvo" if re.search(NAMES[role], name.lower())]
        if len(meant) != 1:
            return ""
        found += meant
    return "".join(dict.fromkeys(found))


def _choices(
    slots: Sequence[tuple[_Group, int]],
    roles: Sequence[str],
    labels: Mapping[_Group, list[_Labels]],
) -> Iterator[list[_Labels]]:
    """For each slot how its axes are read: alike for q, k and v of a group, apart for o."""
    keys = list(
        dict.fromkeys((group, role == "o") for (group, _), role in zip(slots, roles, strict=True))
    )
    options = [
        # o takes heads and gives features, so its usual form is the others' transposed
        list(reversed(_by_input_last(labels[group]))) if is_o else _by_input_last(labels[group])
        for group, is_o in keys
    ]
    for interleaved in (False, True):
        for chosen in itertools.product(*options):
            kinds = [how.interleaved for how in chosen if how.interleaved is not None]
            if any(kind != interleaved for kind in kinds) or (interleaved and not kinds):
                continue
            how = dict(zip(keys, chosen, strict=True))
            yield [how[(group, role == "o")] for (group, _), role in zip(slots, roles, strict=True)]


def _by_input_last(labels: list[_Labels]) -> list[_Labels]:
    return sorted(labels, key=lambda how: how.order[-1] != "I")


def _selector(group: _Group, index: int, how: _Labels, transposed: bool) -> Selector:
    def select(values: Parameters) -> Tensor:
        rows = how.read(group.stacked(values), index)
        return rows.T if transposed else rows

    return select


def _plain_row(group: _Group, index: int) -> Selector:
    """Selects one of several vectors that lie one after the other."""

    def select(values: Parameters) -> Tensor:
        return group.stacked(values).reshape(group.roles, -1)[index]

    return select
