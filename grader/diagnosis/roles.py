"""Which element of which parameter plays which role in a multi-head attention.

Comparing numbers needs the weights' roles, and a submission may lay its weights out as it likes:
one matrix each, fused in any order, one per head, transposed, raw. `read_by_name` guesses from
names and shapes. `read_by_gradients` finds out from behaviour: with chosen inputs and probes, the
gradient of an element is zero or not, and proportional to other weights, in a way that tells its
role, its row and its column. It needs no guess about the layout, only that each element is used
once, as a weight.
"""

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

Parameters = Mapping[str, Tensor]
# query (B, T_q, D), key (B, T_k, D), value (B, T_k, D), probe (B, T_q, D) -> gradients by parameter
Gradients = Callable[[Tensor, Tensor, Tensor, Tensor], Mapping[str, Tensor | None]]

NAMES = {
    "q": r"(^|[._])w?_?(q|query|queries|to_?q|q_?proj|q_?linear|linear_?q|wq|w_?query)([._]|$)",
    "k": r"(^|[._])w?_?(k|key|keys|to_?k|k_?proj|k_?linear|linear_?k|wk|w_?key)([._]|$)",
    "v": r"(^|[._])w?_?(v|value|values|to_?v|v_?proj|v_?linear|linear_?v|wv|w_?value)([._]|$)",
    "o": r"(^|[._])w?_?(o|out|output|fc|fc_?out|proj|o_?proj|out_?proj|to_?out|wo|w_?out|linear_?o"
    r"|out_?linear)([._]|$)",
}


@dataclass(frozen=True)
class Reading:
    """The weights of a layer by role.

    Attributes:
        weights: "q", "k", "v", "o", each (D, D) as in `nn.Linear`, with heads in rows one after the
            other for q, k, v and in columns for o; "bq", "bk", "bv", "bo", each (D,), zero where
            the layer has none.
    """

    weights: dict[str, Tensor]


def read_by_name(parameters: Parameters, d_model: int) -> Reading | None:
    """The weights as names and shapes suggest, else the order of registration; None if neither.

    Args:
        parameters: values by name, in order of registration.
        d_model: D.
    """
    square = [n for n, p in parameters.items() if p.shape == (d_model, d_model)]
    fused = [n for n, p in parameters.items() if p.shape == (3 * d_model, d_model)]
    weights: dict[str, Tensor] = {}
    names: dict[str, str] = {}
    if len(square) == 4:
        chosen = {role: [n for n in square if re.search(NAMES[role], n.lower())] for role in "qkvo"}
        if all(len(found) == 1 for found in chosen.values()):
            names = {role: found[0] for role, found in chosen.items()}
        else:
            names = dict(zip("qkvo", square, strict=True))
        weights = {role: parameters[name] for role, name in names.items()}
    elif len(square) == 1 and len(fused) == 1:
        names = {"o": square[0]}
        weights = dict(zip("qkv", parameters[fused[0]].chunk(3), strict=True))
        weights["o"] = parameters[square[0]]
        bias = parameters.get(re.sub("weight$", "bias", fused[0]))
        if bias is not None and bias.shape == (3 * d_model,):
            weights.update(zip(("bq", "bk", "bv"), bias.chunk(3), strict=True))
    else:
        return None
    for role, name in names.items():
        bias = parameters.get(re.sub("weight$", "bias", name))
        if bias is not None and bias.shape == (d_model,):
            weights["b" + role] = bias
    return Reading(_with_zero_biases(weights, d_model))


def _with_zero_biases(weights: dict[str, Tensor], d_model: int) -> dict[str, Tensor]:
    return {**{f"b{role}": torch.zeros(d_model) for role in "qkvo"}, **weights}


class _NoReading(Exception):
    """The gradients do not fit a multi-head attention of the usual kind."""


def read_by_gradients(
    parameters: Parameters, gradients: Gradients, d_model: int, n_heads: int, draw: torch.Generator
) -> Reading | None:
    """The weights as their gradients tell; None where they fit no multi-head attention.

    Takes 5·D calls of `gradients`, so D should be small.

    Args:
        parameters: values by name; random, so that no two rows are alike.
        gradients: gives the gradients of `sum(output · probe)`.
        d_model: D.
        n_heads: H.
        draw: where random inputs come from.
    """
    if not parameters:
        return None
    try:
        weights = _Search(parameters, gradients, d_model, n_heads, draw).run()
    except _NoReading:
        return None
    return Reading(_with_zero_biases(weights, d_model))


class _Search:
    """Finds roles from patterns of gradients over all parameter elements, laid end to end."""

    def __init__(
        self,
        parameters: Parameters,
        gradients: Gradients,
        d_model: int,
        n_heads: int,
        draw: torch.Generator,
    ) -> None:
        self._names = list(parameters)
        self._values = torch.cat([p.reshape(-1).double() for p in parameters.values()])
        self._shapes = {name: p.shape for name, p in parameters.items()}
        self._gradients = gradients
        self._d = d_model
        self._h = n_heads
        self._draw = draw

    def run(self) -> dict[str, Tensor]:
        """The weights by role; raises _NoReading."""
        weights, columns = self._values_and_output()
        weights.update(self._queries_and_keys(weights, columns))
        return {role: weight.float() for role, weight in weights.items()}

    def _values_and_output(self) -> tuple[dict[str, Tensor], list[int]]:
        """W_V, W_O and their biases, from a single key, whose weight is 1.

        With p the probe and v the value, out = W_O(W_V v + b_V) + b_O, so the gradient of W_V[i, j]
        is (W_Oᵀp)_i v_j, and that of W_O[m, i] is p_m (W_V v + b_V)_i. Also returns the elements
        that take part, so that the others are the query's and key's.
        """
        d, eye = self._d, torch.eye(self._d)
        query, key = self._random(1, 1, d), self._random(1, 1, d)
        probe, value = self._random(1, 1, d), self._random(1, 1, d)
        over_j = self._stack([(query, key, eye[j].view(1, 1, d), probe) for j in range(d)])
        over_m = self._stack([(query, key, value, eye[m].view(1, 1, d)) for m in range(d)])
        v, p = value.flatten().double(), probe.flatten().double()
        active_j, active_m = _active(over_j), _active(over_m)
        one_j, all_j = active_j.sum(0) == 1, active_j.all(0)
        one_m, all_m = active_m.sum(0) == 1, active_m.all(0)

        is_v, is_bv = one_j & all_m, all_j & all_m
        outputs = all_j & one_m
        m_of = active_m.int().argmax(0)
        constant = (over_j - over_j[:1]).abs().amax(0) <= 1e-5 * over_j.abs().amax(0)
        is_bo = outputs & constant & ((over_m.sum(0) - 1).abs() < 1e-4)
        is_o = outputs & ~is_bo
        self._expect(int(is_v.sum()) == d * d and int(is_o.sum()) == d * d)
        self._expect(int(is_bv.sum()) in (0, d) and int(is_bo.sum()) in (0, d))

        o_elements = _indices(is_o)
        hidden = over_j[:, o_elements] / p[m_of[o_elements]]
        groups = self._groups(hidden, [int(m_of[e]) for e in o_elements], o_elements)
        w_o = torch.stack([self._values[group] for group in groups], dim=1)  # (m, i)
        w_v = torch.zeros(d, d, dtype=torch.double)
        seen = set()
        j_of = active_j.int().argmax(0)
        for e in _indices(is_v):
            j = int(j_of[e])
            i = self._closest(over_m[:, e] / v[j], w_o.T)
            w_v[i, j] = self._values[e]
            seen.add((i, j))
        self._expect(len(seen) == d * d)
        weights = {"v": w_v, "o": w_o}
        if bool(is_bv.any()):
            b_v = torch.zeros(d, dtype=torch.double)
            rows = [self._closest(over_m[:, e], w_o.T) for e in _indices(is_bv)]
            self._expect(len(set(rows)) == d)
            b_v[rows] = self._values[_indices(is_bv)]
            weights["bv"] = b_v
        if bool(is_bo.any()):
            b_o = torch.zeros(d, dtype=torch.double)
            b_o[m_of[_indices(is_bo)]] = self._values[_indices(is_bo)]
            weights["bo"] = b_o
        return weights, _indices(~(is_v | is_bv | outputs))

    def _queries_and_keys(self, weights: dict[str, Tensor], rest: list[int]) -> dict[str, Tensor]:
        """W_Q, W_K and the query's bias, from two keys, whose difference of scores matters.

        With k₂ = 0 and k₁ small, both weights stay near ½, and the gradient of W_Q[i, a] is
        c_h q_a (W_K k₁)_i, that of W_K[i, b] is c_h (W_Q q + b_Q)_i k₁_b, with c_h the same for all
        i of a head. Rows of W_V and columns of W_O are put in the order of heads on the way.
        """
        self._expect(len(rest) > 0)  # a layer may use one matrix in several roles
        d, eye = self._d, torch.eye(self._d)
        small = 0.02
        query, values = self._random(1, 1, d), self._random(1, 2, d)
        zero = torch.zeros(1, 1, d)
        keys = torch.cat([small * self._random(1, 1, d), zero], dim=1)
        inverse = torch.linalg.pinv(
            weights["o"]
        ).float()  # row i is a probe that reads hidden unit i
        # A probe under which every hidden unit adds to c_h with the same sign: no head fades away.
        signs = torch.sign(weights["v"] @ (values[0, 0] - values[0, 1]).double()).float()
        probe = (signs @ inverse).view(1, 1, d)
        heads = self._stack([(query, keys, values, inverse[i].view(1, 1, d)) for i in range(d)])
        basis = [torch.cat([small * eye[b].view(1, 1, d), zero], dim=1) for b in range(d)]
        over_b = self._stack([(query, basis[b], values, probe) for b in range(d)])[:, rest]
        over_a = self._stack([(eye[a].view(1, 1, d), keys, values, probe) for a in range(d)])[
            :, rest
        ]
        heads = heads[:, rest]
        numbers = torch.tensor(rest)

        in_head = _active(heads, 1e-3)
        q, k = query.flatten().double(), keys[0, 0].double()
        one_a, all_a = _single(_active(over_a, 1e-4)), _active(over_a, 1e-4).all(0)
        one_b, all_b = _single(_active(over_b, 1e-4)), _active(over_b, 1e-4).all(0)
        is_q, is_k, is_bq = one_a & all_b, one_b & all_a, all_a & all_b
        self._expect(int(is_q.sum()) == d * d and int(is_k.sum()) == d * d)
        self._expect(int(is_bq.sum()) in (0, d))
        a_of, b_of = over_a.abs().argmax(0), over_b.abs().argmax(0)

        q_elements, k_elements = _indices(is_q), _indices(is_k)
        q_marks = over_b[:, q_elements] / q[a_of[q_elements]]
        k_marks = over_a[:, k_elements] / k[b_of[k_elements]]
        q_groups = self._groups(q_marks, [int(a_of[e]) for e in q_elements], q_elements)
        k_groups = self._groups(k_marks, [int(b_of[e]) for e in k_elements], k_elements)
        w_q = torch.stack([self._values[numbers[group]] for group in q_groups])
        w_k = torch.stack([self._values[numbers[group]] for group in k_groups])
        directions = torch.stack([over_b[:, group[0]] for group in q_groups])
        likeness = (_unit(directions) @ _unit(w_k).T).abs()
        partner = likeness.argmax(dim=1)
        self._expect(bool((likeness.amax(dim=1) > 0.999).all()) and len(set(partner.tolist())) == d)
        w_k = w_k[partner]

        order_q, order_v = self._by_head(torch.stack([in_head[:, group[0]] for group in q_groups]))
        found = {"q": w_q[order_q], "k": w_k[order_q]}
        weights["v"], weights["o"] = weights["v"][order_v], weights["o"][:, order_v]
        if "bv" in weights:
            weights["bv"] = weights["bv"][order_v]
        if bool(is_bq.any()):
            elements = _indices(is_bq)
            marks = torch.stack([over_b[:, g[0]] / q[a_of[g[0]]] for g in q_groups])
            rows = [self._closest(over_b[:, e], marks) for e in elements]
            self._expect(len(set(rows)) == d)
            b_q = torch.zeros(d, dtype=torch.double)
            b_q[rows] = self._values[numbers[elements]]
            found["bq"] = b_q[order_q]
        return found

    def _by_head(self, reads: Tensor) -> tuple[list[int], list[int]]:
        """Orders of query rows and of hidden units that put heads one after the other.

        Args:
            reads: (query rows, hidden units) whether the row's head holds the hidden unit.
        """
        members: dict[tuple[bool, ...], list[int]] = {}
        for row, pattern in enumerate(reads.tolist()):
            members.setdefault(tuple(pattern), []).append(row)
        width = self._d // self._h
        self._expect(len(members) == self._h)
        rows, units = [], []
        for pattern, group in members.items():
            held = [unit for unit, inside in enumerate(pattern) if inside]
            self._expect(len(group) == width and len(held) == width)
            rows += group
            units += held
        self._expect(sorted(units) == list(range(self._d)))
        return rows, units

    def _groups(self, marks: Tensor, slots: list[int], elements: list[int]) -> list[list[int]]:
        """Elements with the same mark, each group in the order of its slots 0 … D-1.

        Args:
            marks: (D, number of elements), a column an element.
            slots: for each element, its place in its group.
            elements: their numbers.
        """
        size = marks.abs().amax()
        left = list(range(len(elements)))
        groups = []
        while left:
            first = left[0]
            distance = (marks[:, left] - marks[:, [first]]).abs().amax(0)
            same = [n for n, far in zip(left, distance.tolist(), strict=True) if far < 1e-3 * size]
            self._expect(sorted(slots[n] for n in same) == list(range(self._d)))
            groups.append([elements[n] for n in sorted(same, key=lambda n: slots[n])])
            left = [n for n in left if n not in same]
        return groups

    def _closest(self, mark: Tensor, rows: Tensor) -> int:
        """The row that equals the mark."""
        distance = (rows - mark).abs().amax(dim=1)
        self._expect(bool(distance.min() < 1e-3 * rows.abs().amax()))
        return int(distance.argmin())

    def _stack(self, calls: Sequence[tuple[Tensor, Tensor, Tensor, Tensor]]) -> Tensor:
        """The gradients of all elements for each call: (calls, elements), double."""
        rows = []
        for call in calls:
            found = self._gradients(*call)
            parts = []
            for name in self._names:
                gradient = found.get(name)
                if gradient is None:
                    gradient = torch.zeros(self._shapes[name])
                self._expect(gradient.shape == self._shapes[name])
                parts.append(gradient.reshape(-1).double())
            rows.append(torch.cat(parts))
        stacked = torch.stack(rows)
        self._expect(bool(torch.isfinite(stacked).all()))
        return stacked

    def _random(self, *shape: int) -> Tensor:
        """Values of either sign, none of them near 0."""
        signs = torch.randint(0, 2, shape, generator=self._draw) * 2 - 1
        return signs * (0.5 + torch.rand(shape, generator=self._draw))

    @staticmethod
    def _expect(holds: bool) -> None:
        if not holds:
            raise _NoReading


def _active(gradients: Tensor, threshold: float = 1e-5) -> Tensor:
    """Where a gradient is not zero, each call measured by its largest."""
    return gradients.abs() > threshold * gradients.abs().amax(dim=1, keepdim=True).clamp_min(1e-30)


def _single(active: Tensor) -> Tensor:
    return active.sum(0) == 1


def _indices(flags: Tensor) -> list[int]:
    return [int(index) for index in flags.nonzero().flatten()]


def _unit(rows: Tensor) -> Tensor:
    length: Tensor = rows.norm(dim=1, keepdim=True).clamp_min(math.ulp(0.0))
    return rows / length
