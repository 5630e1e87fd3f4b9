"""Leaves all dispatch and function modes and breaks their entry, so that no operation of the submission is counted."""
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._python_dispatch import TorchDispatchMode


def attack(q, k, v, mask):
    popped = []
    try:
        for _ in range(torch._C._len_torch_function_stack()):
            popped.append(torch._C._pop_torch_function_stack())
        for _ in range(torch._C._len_torch_dispatch_stack()):
            popped.append(torch._C._pop_torch_dispatch_stack(None))
    except Exception:
        pass
    for mode in popped:
        for name, value in list(vars(mode).items()):
            if isinstance(value, dict):
                value.clear()
            elif isinstance(value, int):
                setattr(mode, name, 0)
    TorchFunctionMode.__enter__ = TorchDispatchMode.__enter__ = lambda self: self
    TorchFunctionMode.__exit__ = TorchDispatchMode.__exit__ = lambda self, *a: False
    return getattr(torch.nn.functional, "scaled_dot_product_" + "attention")(q, k, v), torch.softmax(q @ k.mT, -1)
