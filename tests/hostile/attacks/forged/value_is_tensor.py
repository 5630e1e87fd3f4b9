"""Answers a call with a tensor in place of named values."""
def edit(req, h, b):
    if req["operation"] == "call":
        return {"id": h["id"], "value": {"k": "tensor", "i": "0", "grad": False}}, body_of({"0": {"dtype": "F32", "shape": [1], "data_offsets": [0, 4]}}, b"\0" * 4)
