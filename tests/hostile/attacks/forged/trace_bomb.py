"""Names one large tensor as every event of a trace."""
def edit(req, h, b):
    if arguments_of(req).get("trace"):
        n = 8_000_000
        fr = {"k": "dict", "v": [["file", "attention.py"], ["line", 3], ["function", "f"]]}
        ev = {"k": "dict", "v": [["value", {"k": "tensor", "i": "0", "grad": False}], ["frame", fr]]}
        v = {"k": "dict", "v": [["returned", None], ["events", {"k": "list", "v": [ev] * 6}]]}
        return {"id": h["id"], "value": v}, body_of({"0": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4*n]}}, bytes(4*n))
