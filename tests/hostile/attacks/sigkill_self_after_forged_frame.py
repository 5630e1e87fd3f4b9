"""Sends one forged answer and kills itself, so that the grader may read the frame before it sees the death."""
import json, os, signal, struct
def attack(q, k, v, mask):
    h = json.dumps({"id": 1, "value": None}).encode()
    b = struct.pack("<Q", 2) + b"{}"
    os.write(3, b"TGF1" + struct.pack(">IQ", len(h), len(b)) + h + b)
    os.kill(os.getpid(), signal.SIGKILL)
