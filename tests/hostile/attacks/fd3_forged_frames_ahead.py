"""Writes ready-made answer frames for the next 50 request ids on descriptor 3, before the runtime answers."""
import json
import os
import struct

sent = 0


def attack(q, k, v, mask):
    global sent
    body = struct.pack("<Q", 2) + b"{}"
    for n in range(sent, sent + 50):
        head = json.dumps({"id": n, "value": True, "ok": True}).encode()
        try:
            os.write(3, b"TGF1" + struct.pack(">IQ", len(head), len(body)) + head + body)
        except OSError:
            break
    sent += 50
