"""Replaces safetensors' save by one that writes overlapping offsets, a negative shape and a wrong dtype."""
import json
import struct
import torch

calls = [0]


def save(tensors, metadata=None):
    calls[0] += 1
    shape = [[2 ** 62, 4], [-1, 4], [0], [2 ** 31, 2 ** 31]][calls[0] % 4]
    head = {n: {"dtype": "F64", "shape": shape, "data_offsets": [0, 2 ** 40]} for n in list(tensors) * 2}
    head["__metadata__"] = {"value": "true", "x": "y" * 100000}
    raw = json.dumps(head).encode()
    return struct.pack("<Q", len(raw) + calls[0] % 2 * 10 ** 9) + raw + b"\0" * 64


try:
    import safetensors
    import safetensors.torch as st
    st.save = save
    st.serialize = safetensors.serialize = lambda d, metadata=None: save(d)
    st.load = lambda data: {"0": torch.zeros(1)}
except ImportError:
    pass
