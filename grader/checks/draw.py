"""Random inputs from a fixed seed: the same for every submission of a class."""

import hashlib
from functools import cache, cached_property

import torch
from torch import Tensor


@cache
def seed_of(assignment: str, check: str, secret: str) -> int:
    """The seed of a check's inputs; there are as many as tests."""
    text = "\x00".join((assignment, check, secret))
    digest = hashlib.sha256(text.encode("utf-8", "surrogateescape")).digest()
    return int.from_bytes(digest[:6], "big")


class Draw:
    """Draws the tensors of one check.

    Args:
        assignment: its id.
        check: the check's id.
        secret: with a teacher's secret, inputs cannot be foreseen; without, they are public.
    """

    def __init__(self, assignment: str, check: str, secret: str = "") -> None:
        self.seed = seed_of(assignment, check, secret)

    @cached_property
    def generator(self) -> torch.Generator:
        """Where its values come from; many checks draw none."""
        return torch.Generator().manual_seed(self.seed)

    def normal(self, *shape: int, scale: float = 1.0) -> Tensor:
        """Standard normal values times `scale`, float32."""
        return torch.randn(shape, generator=self.generator) * scale

    def apart(self, *shape: int) -> Tensor:
        """Values of either sign, of size 0.3 to 1, so that none is near 0 or very large."""
        signs = torch.randint(0, 2, shape, generator=self.generator) * 2 - 1
        return signs * (0.3 + 0.7 * torch.rand(shape, generator=self.generator))

    def permutation(self, n: int) -> Tensor:
        """A permutation of 0 … n-1 that is not the identity (n ≥ 2)."""
        while True:
            order = torch.randperm(n, generator=self.generator)
            if not torch.equal(order, torch.arange(n)):
                return order

    def mask(self, *shape: int) -> Tensor:
        """A bool mask, True = may attend, in which every row has a True, and some False (T ≥ 2)."""
        mask = torch.rand(shape, generator=self.generator) < 0.6
        mask[..., 0] |= ~mask.any(dim=-1)
        mask[..., -1] &= ~mask.all()
        return mask
