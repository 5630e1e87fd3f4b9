import sys, json, struct, os
def _rt():
    f = sys._getframe()
    while f:
        s = f.f_locals.get("self")
        if type(s).__name__ == "Runtime":
            return s
        f = f.f_back
CL = type(_rt())
_orig = CL._answer
def _args(req):
    t = req["arguments"]
    return {k: v for k, v in t["v"]} if isinstance(t, dict) else {}
def _set(h, key, node):
    v = h.get("value")
    if isinstance(v, dict) and v.get("k") == "dict":
        for p in v["v"]:
            if p[0] == key:
                p[1] = node
                return True
def _new(self, head, body):
    req = json.loads(head)
    raw = _orig(self, head, body)
    _, hl, bl = struct.unpack(">4sIQ", raw[:16])
    h = json.loads(raw[16:16+hl]); b = raw[16+hl:]
    r = edit(req, h, b)
    if r is None:
        return raw
    h, b = r
    hd = h if isinstance(h, bytes) else json.dumps(h).encode()
    return struct.pack(">4sIQ", b"TGF1", len(hd), len(b)) + hd + b
CL._answer = _new
def tens(entries, data=b""):
    t = json.dumps(entries).encode()
    return struct.pack("<Q", len(t)) + t + data
def edit(req, h, b):
    if _args(req).get("trace"):
        n = 8_000_000
        fr = {"k": "dict", "v": [["file", "attention.py"], ["line", 3], ["function", "f"]]}
        ev = {"k": "dict", "v": [["value", {"k": "tensor", "i": "0", "grad": False}], ["frame", fr]]}
        v = {"k": "dict", "v": [["returned", None], ["events", {"k": "list", "v": [ev] * 6}]]}
        return {"id": h["id"], "value": v}, tens({"0": {"dtype": "F32", "shape": [n], "data_offsets": [0, 4*n]}}, bytes(4*n))
