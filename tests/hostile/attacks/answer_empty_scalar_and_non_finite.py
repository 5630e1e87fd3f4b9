"""Answers in turn empty, 0-dim, size-1, NaN, inf and too-long tensors, hoping that broadcasting or NaN rules accept one."""
import torch

calls = [0]


def attack(q, k, v, mask):
    calls[0] += 1
    shape = tuple(q.shape[:-1]) + (v.shape[-1],)
    wshape = tuple(q.shape[:-1]) + (k.shape[-2],)
    kinds = (
        (torch.empty((0,) + shape[1:]), torch.empty((0,) + wshape[1:])),
        (torch.tensor(0.25), torch.tensor(0.25)),
        (torch.full((1,) * len(shape), 0.1), torch.full((1,) * len(shape), 0.1)),
        (torch.full(shape, float("nan")), torch.full(wshape, float("nan"))),
        (torch.full(shape, float("inf")), torch.full(wshape, float("-inf"))),
        (torch.zeros((0,)), torch.zeros((2, 0, 3))),
        (torch.zeros((3,) + shape), torch.zeros((1,) * 60)),
        (torch.empty(0), None),
        (None, None),
        (),
    )
    return kinds[calls[0] % len(kinds)]
