"""Attentions and blocks whose parameters are laid out as an axis string says.

A parameter is spelled by the roles it holds and its axes: R is the role, H the head, K a head's
feature, I the model's feature. A blank parts axes; letters that stand together are one axis. So
the weight of a Linear for the query is ("q", "HK I"), that of the output ("o", "I HK"), and one
Linear for all three is ("qkv", "RHK I").
"""

from collections.abc import Callable, Mapping, Sequence
from math import prod

import torch
from torch import Tensor, nn

from grader.diagnosis.blocks import D_FF, D_MODEL, N_HEADS

D_K = D_MODEL // N_HEADS
Spelling = tuple[str, str] | tuple[str, str, str]  # roles, axes, and those of o where they differ


def sizes_of(roles: str, axes: str) -> list[int]:
    size = {"R": len(roles), "H": N_HEADS, "K": D_K, "I": D_MODEL}
    return [size[label] for label in axes.replace(" ", "")]


def shape_of(roles: str, axes: str) -> tuple[int, ...]:
    size = {"R": len(roles), "H": N_HEADS, "K": D_K, "I": D_MODEL}
    return tuple(prod(size[label] for label in axis) for axis in axes.split())


def role_of(value: Tensor, roles: str, axes: str, role: str) -> Tensor:
    """The weights (H, K, I) of one role, or (H, K) of its bias."""
    labels = axes.replace(" ", "")
    view = value.reshape(sizes_of(roles, axes))
    wanted = [label for label in "RHKI" if label in labels]
    view = view.permute([labels.index(label) for label in wanted])
    return view[roles.index(role)] if "R" in labels else view


class SpelledAttention(nn.Module):
    """Multi-head attention over parameters of the given spellings."""

    def __init__(
        self,
        weights: Mapping[str, Spelling],
        biases: Mapping[str, Spelling] | None = None,
        output_bias: bool = False,
    ) -> None:
        super().__init__()
        self.spelled = {name: ("", *spelling) for name, spelling in weights.items()}
        self.spelled |= {name: ("b", *spelling) for name, spelling in (biases or {}).items()}
        for name, (_, roles, axes, *_) in self.spelled.items():
            self.register_parameter(name, nn.Parameter(torch.randn(shape_of(roles, axes))))
        if output_bias:
            self.last = nn.Parameter(torch.zeros(D_MODEL))

    def part(self, prefix: str, role: str) -> Tensor | None:
        for name, (kind, roles, axes, *other) in self.spelled.items():
            if kind == prefix and role in roles:
                chosen = other[0] if other and role == "o" else axes
                return role_of(getattr(self, name), roles, chosen, role)
        return None

    def project(self, x: Tensor, role: str) -> Tensor:
        bias = self.part("b", role)
        projected = torch.einsum("btd,hkd->bhtk", x, self.part("", role))
        return projected if bias is None else projected + bias[:, None]

    def forward(self, x: Tensor, memory: Tensor, seen: Tensor | None = None) -> Tensor:
        q, k, v = (self.project(x, "q"), self.project(memory, "k"), self.project(memory, "v"))
        out = torch.einsum("bhtk,hkd->btd", mixed(q, k, v, seen), self.part("", "o"))
        return out + self.last if hasattr(self, "last") else out


def mixed(q: Tensor, k: Tensor, v: Tensor, seen: Tensor | None) -> Tensor:
    scores = q @ k.mT / q.shape[-1] ** 0.5
    if seen is not None:
        scores = scores.masked_fill(~seen, float("-inf"))
    return scores.softmax(-1) @ v


class HeadLists(nn.Module):
    """A Linear for each head and role, in three ModuleLists."""

    def __init__(self, bias: Sequence[bool] = (True, False, True)) -> None:
        super().__init__()
        for name, with_bias in zip("qkv", bias, strict=True):
            heads = [nn.Linear(D_MODEL, D_K, bias=with_bias) for _ in range(N_HEADS)]
            setattr(self, name, nn.ModuleList(heads))
        self.out = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor, memory: Tensor, seen: Tensor | None = None) -> Tensor:
        heads = [
            mixed(q(x), k(memory), v(memory), seen)
            for q, k, v in zip(self.q, self.k, self.v, strict=True)
        ]
        return self.out(torch.cat(heads, -1))


class Head(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.k, self.q, self.v = (nn.Linear(D_MODEL, D_K, bias=False) for _ in range(3))

    def forward(self, x: Tensor, memory: Tensor, seen: Tensor | None) -> Tensor:
        return mixed(self.q(x), self.k(memory), self.v(memory), seen)


class ListOfHeads(nn.Module):
    """A module for each head, each with its own query, key and value."""

    def __init__(self) -> None:
        super().__init__()
        self.heads = nn.ModuleList(Head() for _ in range(N_HEADS))
        self.proj = nn.Linear(D_MODEL, D_MODEL)

    def forward(self, x: Tensor, memory: Tensor, seen: Tensor | None = None) -> Tensor:
        return self.proj(torch.cat([head(x, memory, seen) for head in self.heads], -1))


class Convolutions(nn.Module):
    """Projections as Conv1d with kernels of size 1."""

    def __init__(self) -> None:
        super().__init__()
        self.a, self.b, self.c, self.d = (nn.Conv1d(D_MODEL, D_MODEL, 1) for _ in range(4))

    def forward(self, x: Tensor, memory: Tensor, seen: Tensor | None = None) -> Tensor:
        def split(features: Tensor) -> Tensor:  # (B, D, T) -> (B, H, T, K)
            return features.unflatten(1, (N_HEADS, D_K)).mT

        q, k, v = split(self.a(x.mT)), split(self.b(memory.mT)), split(self.c(memory.mT))
        return self.d(mixed(q, k, v, seen).mT.flatten(1, 2)).mT


class FeedForward(nn.Module):
    """ReLU between two matrices, registered in the order of `names`, each as `nn.Linear` or not."""

    def __init__(
        self,
        names: str = "w1 c1 w2 c2",
        transposed: str = "",
        activation: Callable[[Tensor], Tensor] = torch.relu,
    ) -> None:
        super().__init__()
        shapes = {"w1": (D_FF, D_MODEL), "c1": (D_FF,), "w2": (D_MODEL, D_FF), "c2": (D_MODEL,)}
        for name in names.split():
            shape = shapes[name][::-1] if name in transposed else shapes[name]
            start = torch.zeros if name.startswith("c") else torch.randn
            self.register_parameter(name, nn.Parameter(start(shape)))
        self.transposed, self.activation = transposed, activation

    def forward(self, x: Tensor) -> Tensor:
        w1, w2 = (
            getattr(self, name) if name in self.transposed else getattr(self, name).mT
            for name in ("w1", "w2")
        )
        hidden = self.activation(x @ w1 + getattr(self, "c1", 0))
        return hidden @ w2 + getattr(self, "c2", 0)


class Norms(nn.Module):
    """LayerNorms of raw gains and shifts, all gains first or all shifts first."""

    def __init__(self, count: int, gains_first: bool) -> None:
        super().__init__()
        one, zero = nn.Parameter(torch.ones(D_MODEL)), nn.Parameter(torch.zeros(D_MODEL))
        kinds = [("gamma", one), ("beta", zero)]
        for kind, start in kinds if gains_first else kinds[::-1]:
            for index in range(count):
                self.register_parameter(f"{kind}{index}", nn.Parameter(start.detach().clone()))

    def __getitem__(self, index: int) -> Callable[[Tensor], Tensor]:
        gain, shift = getattr(self, f"gamma{index}"), getattr(self, f"beta{index}")
        return lambda x: nn.functional.layer_norm(x, (D_MODEL,), gain, shift)


def layer_norms(count: int, order: Sequence[int] | None = None) -> nn.ModuleDict:
    """LayerNorms registered in that order, to be asked for by their places in the block."""
    made = {str(index): nn.LayerNorm(D_MODEL) for index in order or range(count)}

    class Listed(nn.ModuleDict):
        def __getitem__(self, index: int) -> nn.Module:
            return super().__getitem__(str(index))

    return Listed(made)


AddNorm = Callable[[Tensor, Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]], Tensor]


def post_norm(x: Tensor, sublayer, norm) -> Tensor:
    return norm(x + sublayer(x))


class Block(nn.Module):
    """An encoder block of given parts, registered in a given order.

    Args:
        attention: makes an attention.
        feed_forward: makes the feed-forward network.
        norms: makes the norms, out of their number.
        order: of registration.
        add_norms: how each sublayer is joined with its input.
    """

    attentions = ("attention",)

    def __init__(
        self,
        attention: Callable[[], nn.Module],
        feed_forward: Callable[[], nn.Module] = FeedForward,
        norms: Callable[[int], nn.Module] = layer_norms,
        order: Sequence[str] = ("attention", "norms", "feed_forward"),
        add_norms: Sequence[AddNorm] = (post_norm, post_norm, post_norm),
    ) -> None:
        super().__init__()
        self.add_norms = add_norms
        for part in order:
            if part == "attention":
                for name in self.attentions:
                    setattr(self, name, attention())
            else:
                count = len(self.attentions) + 1
                setattr(self, part, norms(count) if part == "norms" else feed_forward())

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        x = self.add_norms[0](x, lambda h: self.attention(h, h), self.norms[0])
        return self.add_norms[1](x, self.feed_forward, self.norms[1])


class Decoder(Block):
    """The same with a second attention, to the memory."""

    attentions = ("self_attention", "cross_attention")

    def seen(self, length: int) -> Tensor | None:
        return torch.ones(length, length, dtype=torch.bool).tril()

    def forward(self, x: Tensor, memory: Tensor) -> Tensor:
        seen = self.seen(x.shape[1])
        x = self.add_norms[0](x, lambda h: self.self_attention(h, h, seen), self.norms[0])
        x = self.add_norms[1](x, lambda h: self.cross_attention(h, memory), self.norms[1])
        return self.add_norms[2](x, self.feed_forward, self.norms[2])
