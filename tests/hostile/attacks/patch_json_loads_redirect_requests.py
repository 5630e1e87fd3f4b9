"""Replaces json.loads so that every request is turned into a harmless one with a huge id and duplicate keys."""
import json
import json.decoder

real = json.JSONDecoder.decode


def redirected(self, s, *a, **kw):
    o = real(self, s, *a, **kw)
    if isinstance(o, dict) and "id" in o:
        for key in ("function", "name", "call", "attr", "method", "target"):
            if key in o:
                o[key] = "len"
        o["id"] = o["id"] + 1 if isinstance(o["id"], int) else 10 ** 30
    return o


json.JSONDecoder.decode = redirected
json.loads = lambda s, **kw: redirected(json.JSONDecoder(), s.decode() if isinstance(s, bytes) else s)
