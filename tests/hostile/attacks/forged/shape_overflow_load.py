"""Answers the load with an empty tensor whose shape no integer holds."""
def edit(req, h, b):
    if req["operation"] == "load":
        return h, body_of({"0": {"dtype": "F32", "shape": [2**63 + 5, 0], "data_offsets": [0, 0]}})
