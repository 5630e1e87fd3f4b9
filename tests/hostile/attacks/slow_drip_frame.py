"""Sends a valid frame one byte every 0.4 s, so that a timeout counted from the last byte never ends."""
import json, os, struct, time
def attack(q, k, v, mask):
    h = (json.dumps({"id": 1, "value": None}) + " " * 500).encode()
    b = struct.pack("<Q", 2) + b"{}"
    for byte in b"TGF1" + struct.pack(">IQ", len(h), len(b)) + h + b:
        os.write(3, bytes([byte]))
        time.sleep(0.4)
