"""Stands before every attack of this folder: its `edit` may change each answer before it is sent."""
import json, struct, sys
def runtime_of(frame):
    while frame:
        found = frame.f_locals.get("self")
        if type(found).__name__ == "Runtime":
            return found
        frame = frame.f_back
names = type(runtime_of(sys._getframe()))._answer.__globals__
honest_pack = names["pack"]
def arguments_of(request):
    tree = request["arguments"]
    return {key: value for key, value in tree["v"]} if isinstance(tree, dict) else {}
def set_in(header, key, node):
    value = header.get("value")
    if isinstance(value, dict) and value.get("k") == "dict":
        for pair in value["v"]:
            if pair[0] == key:
                pair[1] = node
                return True
def body_of(entries, data=b""):
    table = json.dumps(entries).encode()
    return struct.pack("<Q", len(table)) + table + data
def pack(header, tensors):
    raw = honest_pack(header, tensors)
    length = struct.unpack(">4sIQ", raw[:16])[1]
    head, body = json.loads(raw[16:16 + length]), raw[16 + length:]
    changed = edit(sys._getframe(1).f_locals["request"], head, body)
    if changed is None:
        return raw
    head, body = changed
    text = head if isinstance(head, bytes) else json.dumps(head).encode()
    return struct.pack(">4sIQ", b"TGF1", len(text), len(body)) + text + body
names["pack"] = pack
