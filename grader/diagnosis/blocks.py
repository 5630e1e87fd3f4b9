"""Which parameter of an encoder or decoder block plays which role.

A post-norm block is peeled from its end: with the gain of a norm at 0, nothing that lies before it
reaches the output. So each norm, the feed-forward network and each bias is found by setting values
and looking at what comes out, whatever its name. The attention's matrices are then searched among
the layouts of their shapes. A reading that agrees on random values is proof.
"""

import itertools
import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, Protocol

import torch
from torch import Tensor
from torch.nn import functional as F

from grader.diagnosis.layouts import (
    MAX_LAYOUTS,
    Parameters,
    Selector,
    attention_layouts,
    bias_layouts,
)
from reference.misconceptions.blocks import (
    BlockWeights,
    decoder_block,
    encoder_block,
    layer_norm,
)

MAX_READINGS = 500  # that are tried for a block
MAX_SECONDS = 2.0  # of computing that trying them may take
MORE = 12  # layouts of an attention that are tried where all the rest is known
LIKELY = 8  # layouts of an attention under which mistakes are looked for
D_MODEL, N_HEADS, D_FF = 30, 5, 11  # with 2, 3 or 4 roles and d_k = 6, no two axes are alike


@dataclass(frozen=True)
class Sizes:
    """The sizes of a block: D, H and d_ff, which should all be apart from each other and d_k."""

    d_model: int = D_MODEL
    n_heads: int = N_HEADS
    d_ff: int = D_FF

    def arguments(self) -> dict[str, int]:
        """The constructor's arguments by the assignment's names."""
        return {"d_model": self.d_model, "n_heads": self.n_heads, "d_ff": self.d_ff}


STANDARD = Sizes()

# values, x (B, T, D), memory (B, S, D) -> output (B, T, D) of the submission's block
Ask = Callable[[Parameters, Tensor, Tensor], Tensor]
# as Ask, with a probe (B, T, D): which parameters the gradient of sum(output · probe) reaches
Reached = Callable[[Parameters, Tensor, Tensor], set[str]]


class Draws(Protocol):
    """Draws random tensors."""

    def normal(self, *shape: int) -> Tensor:
        """Standard normal values."""

    def apart(self, *shape: int) -> Tensor:
        """Values of either sign, of size 0.3 to 1."""


class Unreadable(Exception):
    """No reading fits; the message says where the search ended.

    Attributes:
        usual: whether the parameters are those of a block of the usual kind, so that a right block
            would have been read.
        reading: what was found before, where only an attention is missing.
    """

    def __init__(self, message: str, usual: bool, reading: "BlockReading | None" = None) -> None:
        super().__init__(message)
        self.usual = usual
        self.reading = reading


@dataclass(frozen=True)
class Vector:
    """Selects the parameter of a name, as a vector of a size; zeros for no name."""

    name: str
    size: int

    def __call__(self, values: Parameters) -> Tensor:
        """The vector, out of a block's parameter values by name."""
        return values[self.name].reshape(-1) if self.name else torch.zeros(self.size)


@dataclass(frozen=True)
class BlockReading:
    """The role of each parameter, as selectors over the block's parameters by name."""

    gains: tuple[Selector, ...]
    shifts: tuple[Selector, ...]
    w1: Selector
    c1: Selector
    w2: Selector
    c2: Selector
    attentions: tuple[Mapping[str, Selector], ...]

    def weights(self, values: Parameters) -> BlockWeights:
        """The weights by role, out of a block's parameter values by name."""
        gains = tuple(gain(values) for gain in self.gains)
        zero = torch.zeros_like(gains[0])
        return BlockWeights(
            tuple(
                {
                    role: attention[role](values) if role in attention else zero
                    for role in ("q", "k", "v", "o", "bq", "bk", "bv", "bo")
                }
                for attention in self.attentions
            ),
            gains,
            tuple(shift(values) for shift in self.shifts),
            self.w1(values),
            self.c1(values),
            self.w2(values),
            self.c2(values),
        )


@dataclass(frozen=True)
class Inventory:
    """A block's parameters sorted by shape and by what they are when freshly made.

    Attributes:
        gains: (D,), all ones when freshly made.
        vectors: the other (D,).
        hidden: names of two matrices with a side of d_ff, and of the bias (d_ff,) or None.
        matrices: of the attentions.
        biases: of the attentions, where they are no (D,).
    """

    gains: tuple[str, ...]
    vectors: tuple[str, ...]
    hidden: tuple[str, str, str | None]
    matrices: tuple[str, ...]
    biases: tuple[str, ...]
    shapes: Mapping[str, tuple[int, ...]]


def take_inventory(fresh: Parameters, attentions: int, sizes: Sizes = STANDARD) -> Inventory:
    """Sort a block's parameters; raises Unreadable where they are not those of a block.

    Args:
        fresh: freshly made values, by name in order of registration.
        attentions: 1 for an encoder block, 2 for a decoder block.
        sizes: with which the block was made.
    """
    d_model, d_ff = sizes.d_model, sizes.d_ff
    shapes = {name: tuple(n for n in value.shape if n != 1) for name, value in fresh.items()}
    with_hidden = [name for name, shape in shapes.items() if d_ff in shape]
    weights = [name for name in with_hidden if sorted(shapes[name]) == [d_ff, d_model]]
    biases = [name for name in with_hidden if shapes[name] == (d_ff,)]
    vectors = [name for name, shape in shapes.items() if shape == (d_model,)]
    gains = [name for name in vectors if bool((fresh[name] == 1).all())]
    rest = [name for name in fresh if name not in with_hidden and name not in vectors]
    share = d_model * d_model // sizes.n_heads  # a head's, of a matrix
    least = share if share > 3 * d_model else d_model**2  # more than three biases in one
    matrices = [name for name in rest if math.prod(shapes[name]) >= least]
    total = sum(math.prod(shapes[name]) for name in matrices)
    usual = (
        len(weights) == 2
        and len(biases) <= 1
        and len(with_hidden) == len(weights) + len(biases)
        and len(gains) == attentions + 1
        and total == attentions * 4 * d_model**2
    )
    if not usual:
        raise Unreadable("its parameters are not those of such a block", usual=False)
    return Inventory(
        tuple(gains),
        tuple(name for name in vectors if name not in gains),
        (weights[0], weights[1], biases[0] if biases else None),
        tuple(matrices),
        tuple(name for name in rest if name not in matrices),
        shapes,
    )


class BlockSearch:
    """Finds the reading of one block.

    Args:
        fresh: the block's freshly made parameters, by name in order of registration.
        ask: sets parameters and calls the block.
        reached: which parameters a gradient reaches.
        draw: where random values come from.
        decoder: whether it is a decoder block.
        sizes: with which the block was made.
    """

    def __init__(
        self,
        fresh: Parameters,
        ask: Ask,
        reached: Reached,
        draw: Draws,
        decoder: bool,
        sizes: Sizes = STANDARD,
    ) -> None:
        self._fresh = fresh
        self._ask = ask
        self._reached = reached
        self._draw = draw
        self._decoder = decoder
        self._have = take_inventory(fresh, 2 if decoder else 1, sizes)
        self._d, self._h, self._d_ff = sizes.d_model, sizes.n_heads, sizes.d_ff
        self._x = draw.normal(1, 3, self._d)
        self._memory = draw.normal(1, 4, self._d)
        self.tried = 0  # readings
        self._layout = 0  # the number of the last attention's, which others probably share
        self._begun = time.process_time()
        self._rest: list[str] = []  # vectors that no norm and no output bias has taken
        self._first_gain = ""

    def read(self) -> BlockReading:
        """The reading; raises Unreadable."""
        reading = self._peel()
        parts = self._parts_by_behaviour() if self._decoder else [list(self._have.matrices)]
        for index in reversed(range(len(parts))):
            reading = self._find_attention(reading, parts, index)
        return reading

    def attempts(self, problem: Unreadable) -> Iterator[tuple[list[BlockReading], list[str]]]:
        """Readings under which mistakes are looked for, each with the parameters to be set to 0.

        First what names suggest. Then, where an attention gives other values, its layouts beside
        the rest, which is known; else the norms in any order, with the attentions off.

        Args:
            problem: where `read` ended.
        """
        likely = list(self.likely())
        unplaced = self.unplaced(likely[0]) if likely else []
        yield likely, unplaced
        if problem.reading is not None:
            known = problem.reading.attentions
            readings = [
                replace(
                    problem.reading,
                    attentions=tuple({**k, **f} for k, f in zip(known, found, strict=True)),
                )
                for found in self._layouts_by_order(MORE)
            ]
            yield readings, [*self._have.biases, *self._rest]
        elif likely:
            off = tuple(dict.fromkeys("qkvo", self._zero_matrix) for _ in likely[0].attentions)
            orders = list(itertools.permutations(range(len(likely[0].gains))))
            readings = [
                replace(
                    base,
                    gains=tuple(base.gains[i] for i in order),
                    shifts=tuple(base.shifts[i] for i in order),
                    attentions=off,
                )
                for base in self._likely_frames()
                for order in orders
            ]
            yield readings, [*unplaced, *self._have.matrices]

    def likely(self) -> Iterator[BlockReading]:
        """What names and order of registration suggest, for telling which mistake was made.

        The attentions' biases have no place in these readings: set them to 0 (`unplaced`).
        """
        for base in self._likely_frames():
            for attentions in self._layouts_by_order(LIKELY):
                yield replace(base, attentions=attentions)

    def _likely_frames(self) -> Iterator[BlockReading]:
        """Likely readings of all but the attentions: one for each order of the two matrices."""
        have = self._have
        left = list(have.vectors)
        shifts = []
        for gain in have.gains:
            shifts.append(self._nearest(gain, left))
            left = [name for name in left if name != shifts[-1]]
        for w1, w2 in self._orientations():
            yield BlockReading(
                tuple(self._vector(gain) for gain in have.gains),
                tuple(self._vector(shift) for shift in shifts),
                w1[1],
                Vector(have.hidden[2] or "", self._d_ff),
                w2[1],
                self._vector(self._nearest(w2[0], left)),
                (),
            )

    def unplaced(self, reading: BlockReading) -> list[str]:
        """The biases that a likely reading has no place for."""
        selectors = (*reading.shifts, reading.c2)
        placed = {selector.name for selector in selectors if isinstance(selector, Vector)}
        names = [name for name in self._have.vectors if name not in placed]
        return [*names, *self._have.biases]

    def _layouts_by_order(self, most: int) -> Iterator[tuple[Mapping[str, Selector], ...]]:
        """The first few layouts of the attentions, without biases."""
        options = [
            attention_layouts({n: self._have.shapes[n] for n in part}, self._d, self._h)
            for part in self._parts_by_order()
        ]
        return itertools.islice(zip(*options, strict=False), most)

    def _nearest(self, name: str, others: Sequence[str]) -> str:
        """Of some parameters the one that belongs to `name`: by its name, then by its place."""
        order = list(self._fresh)
        place = order.index(name)

        def distance(other: str) -> tuple[int, bool, int]:
            return (
                -shared_start(name, other),
                order.index(other) < place,
                abs(order.index(other) - place),
            )

        return min(others, key=distance, default="")

    # steps

    def _vector(self, name: str) -> Vector:
        return Vector(name, self._d)

    def _zero_matrix(self, values: Parameters) -> Tensor:
        del values
        return torch.zeros(self._d, self._d)

    def _random(self, zero: Sequence[str] = ()) -> dict[str, Tensor]:
        """Random values for every parameter, zeros for those named."""
        flat = {*self._have.gains, *self._have.vectors, *self._have.biases}
        return {
            name: torch.zeros_like(value)
            if name in zero
            else self._draw.apart(*value.shape) * (0.7 if name in flat else self._d**-0.5)
            for name, value in self._fresh.items()
        }

    def _peel(self) -> BlockReading:
        """Norms, feed-forward network and output biases, with the attentions' matrices at 0."""
        have = self._have
        gains, vectors = list(have.gains), list(have.vectors)
        values = self._random(zero=[*have.matrices, *have.biases])
        off = {**values, **{gain: torch.zeros(self._d) for gain in gains}}
        out = self._out(off)
        last = next((name for name in vectors if _same(out, values[name])), None)
        if last is None:
            raise Unreadable("its output does not end in a LayerNorm of its own", usual=True)
        order = [self._gain_that_matters(off, values, gains, out)]
        shifts = [last]
        vectors.remove(last)

        off[order[0]] = values[order[0]]
        out = self._out(off)
        c2, shift, (w1, w2) = self._feed_forward(out, values, vectors, order[0], last)
        shifts.insert(0, shift)
        vectors = [name for name in vectors if name not in (c2, shift)]
        reading = BlockReading(
            (), (), w1[1], Vector(have.hidden[2] or "", self._d_ff), w2[1], self._vector(c2), ()
        )
        biases: list[str] = []
        left = [gain for gain in gains if gain not in order]
        while left:
            several = len(left) > 1
            gain = self._gain_that_matters(off, values, left, out) if several else left[0]
            left.remove(gain)
            order.insert(0, gain)
            off[gain] = values[gain]
            out = self._out(off)
            bias, before = self._before_norm(
                out, values, vectors, reading, order, shifts, biases, first=not left
            )
            vectors = [name for name in vectors if name not in (bias, before)]
            biases.insert(0, bias)
            if before:
                shifts.insert(0, before)
        self._rest, self._first_gain = vectors, order[0]
        return replace(
            reading,
            gains=tuple(self._vector(name) for name in order),
            shifts=tuple(self._vector(name) for name in shifts),
            attentions=tuple({"bo": self._vector(bias)} if bias else {} for bias in biases),
        )

    def _out(self, values: Parameters) -> Tensor:
        return self._ask(values, self._x, self._memory)

    def _gain_that_matters(
        self, off: Parameters, values: Parameters, gains: list[str], before: Tensor
    ) -> str:
        """The gain that alone, with those before it at 0, changes what comes out."""
        for gain in gains:
            changed = self._out({**off, gain: values[gain]})
            if not torch.allclose(changed, before, atol=1e-5):
                return gain
        raise Unreadable("a LayerNorm has no effect", usual=True)

    def _orientations(self) -> Iterator[tuple[tuple[str, Selector], tuple[str, Selector]]]:
        """The two matrices of the feed-forward network in either order, as in `nn.Linear`."""
        first, second, _ = self._have.hidden
        for a, b in ((first, second), (second, first)):
            yield (
                (a, partial(_oriented, name=a, rows=self._d_ff)),
                (b, partial(_oriented, name=b, rows=self._d)),
            )

    def _feed_forward(
        self, out: Tensor, values: Parameters, vectors: list[str], gain: str, shift: str
    ) -> tuple[str, str, tuple[tuple[str, Selector], tuple[str, Selector]]]:
        """The last bias, the shift of the norm before, and the matrices' order.

        All positions carry that shift alone, so out = norm(shift + FFN(shift)).
        """
        hidden_bias = Vector(self._have.hidden[2] or "", self._d_ff)(values)
        for w1, w2 in self._orientations():
            for before in vectors:
                h = values[before]
                hidden = F.linear(h, w1[1](values), hidden_bias)
                mixed = h + F.linear(torch.relu(hidden), w2[1](values))
                for c2 in [*(name for name in vectors if name != before), ""]:
                    end = mixed + values[c2] if c2 else mixed
                    if _same(out, layer_norm(end, values[gain], values[shift])):
                        return c2, before, (w1, w2)
        raise Unreadable(
            "its feed-forward part is not Linear, ReLU, Linear, Add & Norm", usual=True
        )

    def _before_norm(
        self,
        out: Tensor,
        values: Parameters,
        vectors: list[str],
        reading: BlockReading,
        order: list[str],
        shifts: list[str],
        biases: list[str],
        first: bool,
    ) -> tuple[str, str]:
        """The output bias of the attention before a norm, and the shift of the norm before that."""
        for before in [""] if first else vectors:
            for bias in ["", *(name for name in vectors if name != before)]:
                h = self._x if first else values[before].expand_as(self._x)
                for index, (gain, shift) in enumerate(zip(order, shifts, strict=True)):
                    if index < len(order) - 1:
                        name = [bias, *biases][index]
                        h = h + values[name] if name else h
                    else:
                        hidden = F.linear(h, reading.w1(values), reading.c1(values))
                        h = h + F.linear(torch.relu(hidden), reading.w2(values), reading.c2(values))
                    h = layer_norm(h, values[gain], values[shift])
                if torch.allclose(out, h, rtol=1e-3, atol=1e-4):
                    return bias, before
        raise Unreadable("an attention is not followed by Add & Norm", usual=True)

    def _parts_by_behaviour(self) -> list[list[str]]:
        """The matrices of the self-attention, and those of the cross-attention."""
        # With the first norm's gain at 0, only the cross-attention is still reached.
        values = {**self._random(), self._first_gain: torch.zeros(self._d)}
        reached = self._reached(values, self._x, self._memory)
        names = self._have.matrices
        parts = [[n for n in names if n not in reached], [n for n in names if n in reached]]
        size = 4 * self._d**2
        if any(sum(math.prod(self._have.shapes[n]) for n in part) != size for part in parts):
            raise Unreadable("its two attentions cannot be told apart", usual=True)
        return parts

    def _parts_by_order(self) -> list[list[str]]:
        """The matrices of the first attention to be registered, and those of the second."""
        parts: list[list[str]] = [[], []] if self._decoder else [[]]
        size = 0
        for name in self._have.matrices:
            parts[min(size // (4 * self._d**2), len(parts) - 1)].append(name)
            size += math.prod(self._have.shapes[name])
        return parts

    def _find_attention(
        self, reading: BlockReading, parts: list[list[str]], index: int
    ) -> BlockReading:
        """The reading with one attention found; those after it are known, those before it off."""
        off = [name for part in parts[:index] for name in part]
        mine = {name: self._have.shapes[name] for name in parts[index]}
        biases = self._bias_shapes(parts, index)
        values = self._random(zero=[*off, *self._have.biases, *self._rest])
        out = self._out(values)
        layouts = list(enumerate(attention_layouts(mine, self._d, self._h)))
        layouts.sort(key=lambda layout: layout[0] != self._layout)
        candidates = (
            (number, self._with_attention(other, index, layout))
            for number, layout in layouts
            for other in self._with_exchanged(reading, index)
        )
        agreeing = (pair for pair in candidates if self._agrees(pair[1], values, out))
        self._layout, found = next(agreeing, (self._layout, None))
        if found is None:
            # Where the layouts are so many that not all were tried, nothing is proved.
            tried_all = len(layouts) < MAX_LAYOUTS
            problem = "its attention gives other values"
            if not tried_all:
                problem += f" under each of the {MAX_LAYOUTS} readings that were tried"
            raise Unreadable(problem, usual=tried_all, reading=reading)
        if not biases:
            return found
        others = [name for name in (*self._have.biases, *self._rest) if name not in biases]
        values = self._random(zero=[*off, *others])
        out = self._out(values)
        if self._agrees(found, values, out):
            return found
        for chosen in self._bias_choices(biases):
            more = {f"b{role}": selector for role, selector in chosen.items()}
            with_biases = self._with_attention(found, index, more)
            if self._agrees(with_biases, values, out):
                return with_biases
        raise Unreadable("its attention's biases give other values", usual=True)

    @staticmethod
    def _with_exchanged(reading: BlockReading, index: int) -> Iterator[BlockReading]:
        """The reading, and where an attention follows a norm, their two biases exchanged.

        Only their sum shows as long as the attention is off.
        """
        yield reading
        bias = reading.attentions[index].get("bo")
        if index > 0 and bias is not None:
            shifts, attentions = list(reading.shifts), list(reading.attentions)
            attentions[index] = {**attentions[index], "bo": shifts[index - 1]}
            shifts[index - 1] = bias
            yield replace(reading, shifts=tuple(shifts), attentions=tuple(attentions))

    def _bias_shapes(self, parts: list[list[str]], index: int) -> dict[str, tuple[int, ...]]:
        """The biases of q, k and v that this attention may own."""
        names = [*self._have.biases, *self._rest]
        if len(parts) > 1:
            nearest = {
                name: max(
                    range(len(parts)),
                    key=lambda part: max(shared_start(name, other) for other in parts[part]),
                )
                for name in names
            }
            names = [name for name in names if nearest[name] == index] or names
        return {name: self._have.shapes[name] for name in self._fresh if name in names}

    def _bias_choices(self, shapes: Mapping[str, tuple[int, ...]]) -> Iterator[dict[str, Selector]]:
        """Readings of all the biases, or of any of them where not all take part."""
        yield from bias_layouts(shapes, self._d, self._h)
        for name in shapes:
            yield from bias_layouts({name: shapes[name]}, self._d, self._h)

    @staticmethod
    def _with_attention(
        reading: BlockReading, index: int, more: Mapping[str, Selector]
    ) -> BlockReading:
        attentions = list(reading.attentions)
        attentions[index] = {**attentions[index], **more}
        return replace(reading, attentions=tuple(attentions))

    def _agrees(self, reading: BlockReading, values: Parameters, out: Tensor) -> bool:
        """Whether the right block with these weights gives what came out; raises at the bound."""
        self.tried += 1
        if self.tried > MAX_READINGS or time.process_time() - self._begun > MAX_SECONDS:
            raise Unreadable(
                f"the search for its weights ended at its bound, {MAX_READINGS} readings or "
                f"{MAX_SECONDS:g} s of computing",
                usual=False,
            )
        filled = replace(
            reading,
            attentions=tuple(
                {**dict.fromkeys("qkvo", self._zero_matrix), **attention}
                for attention in reading.attentions
            ),
        )
        weights = filled.weights(values)
        expected = right_block(weights, self._h, self._x, self._memory, None, self._decoder)
        return torch.allclose(out, expected, rtol=1e-3, atol=1e-4)


def right_block(
    weights: BlockWeights,
    n_heads: int,
    x: Tensor,
    memory: Tensor,
    allowed: Tensor | None,
    decoder: bool,
) -> Tensor:
    """What the right block gives."""
    if decoder:
        return decoder_block(weights, n_heads, x, memory, allowed)
    return encoder_block(weights, n_heads, x, allowed)


def shared_start(first: Sequence[Any], second: Sequence[Any]) -> int:
    """How many items two sequences have in common at their beginning."""
    pairs = zip(first, second, strict=False)
    return next((n for n, (a, b) in enumerate(pairs) if a != b), min(len(first), len(second)))


def _oriented(values: Parameters, name: str, rows: int) -> Tensor:
    """A matrix with that many rows: the parameter, or its transpose."""
    matrix = values[name].squeeze()
    return matrix if matrix.shape[0] == rows else matrix.T


def _same(out: Tensor, row: Tensor) -> bool:
    """Whether every position of an output is this row."""
    return torch.allclose(out, row.expand_as(out), rtol=1e-3, atol=1e-4)
