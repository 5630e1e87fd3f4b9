"""Answers expanded views of one number that count 7.7 GB, and overlapping strided views with requires_grad, in turn."""
import torch

calls = [0]


def attack(q, k, v, mask):
    calls[0] += 1
    one = torch.ones(1, requires_grad=True)
    n = calls[0] % 4
    if n == 0:
        return one.expand(44000, 44000), one
    if n == 1:
        s = torch.as_strided(torch.zeros(100), (50, 50), (1, 1))
        return s, s.t()
    if n == 2:
        big = torch.zeros(1000, 1000)[::500, ::500]
        return (big.requires_grad_() * one).expand(20000, 2, 2).transpose(0, 2), big
    t = torch.zeros(4)
    t.untyped_storage().resize_(0)
    return t, t
