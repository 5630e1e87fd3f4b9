"""Says that it found the rows of a tensor with millions of empty ones."""
def edit(req, h, b):
    if req["operation"] == "load":
        h["value"]["v"][0][1] = {"k": "tensor", "i": "0", "grad": False}
        return h, body_of({"0": {"dtype": "F32", "shape": [3_000_000, 0], "data_offsets": [0, 0]}})
