"""Sends success frames from an atexit handler and then leaves with status 0, hiding the real status."""
import atexit, json, os, struct
def bye():
    for n in range(50):
        h = json.dumps({"id": n, "value": True, "ok": True}).encode()
        b = struct.pack("<Q", 2) + b"{}"
        os.write(3, b"TGF1" + struct.pack(">IQ", len(h), len(b)) + h + b)
    os._exit(0)
atexit.register(bye)
def attack(q, k, v, mask):
    raise SystemExit(0)
