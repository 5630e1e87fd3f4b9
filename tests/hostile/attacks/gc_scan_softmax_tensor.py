"""Scans the garbage collector for a tensor whose rows sum to 1 and that differs from the wrong weights."""
import gc
import torch


def attack(q, k, v, mask):
    shape = tuple(q.shape[:-1]) + (k.shape[-2],)
    s = q @ k.transpose(-2, -1)
    wrong = torch.softmax(s if mask is None else s.masked_fill(mask == 0, float("-inf")), -1)
    for x in gc.get_objects():
        try:
            if isinstance(x, torch.Tensor) and tuple(x.shape) == shape and x is not wrong:
                if torch.allclose(x.sum(-1), torch.ones(shape[:-1])) and not torch.allclose(x, wrong):
                    return x @ v, x
        except Exception:
            pass
