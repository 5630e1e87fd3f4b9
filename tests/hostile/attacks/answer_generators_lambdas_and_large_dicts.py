"""Answers in turn an endless-looking generator, a lambda, a self-referencing list and a dict with 10**5 keys."""
import torch

calls = [0]


def numbers():
    for i in range(10 ** 7):
        yield torch.zeros(1)


def attack(q, k, v, mask):
    calls[0] += 1
    loop = [torch.zeros(1)]
    loop.append(loop)
    knot = {}
    knot["self"] = (knot, loop)
    kinds = (
        lambda: numbers(),
        lambda: (lambda *a: True),
        lambda: loop,
        lambda: knot,
        lambda: {("k%d" % i): i for i in range(10 ** 5)},
        lambda: {("t%d" % i): torch.zeros(1) for i in range(10 ** 5)},
        lambda: [torch.zeros(0)] * 10 ** 6,
        lambda: 10 ** 5000,
    )
    return kinds[calls[0] % len(kinds)]()
