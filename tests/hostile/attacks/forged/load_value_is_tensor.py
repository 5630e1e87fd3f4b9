"""Answers the load with a tensor."""
def edit(req, h, b):
    if req["operation"] == "load":
        h["value"] = {"k": "tensor", "i": "0", "grad": False}
        return h, body_of({"0": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4)
