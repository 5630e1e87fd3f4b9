"""Forks in the call and lets child and parent both return, so that two processes answer over the same socket."""
import os, threading, time
forked = []
def attack(q, k, v, mask):
    if forked:
        return
    forked.append(1)
    pid = os.fork()
    if pid == 0:
        killer = threading.Thread(target=lambda: (time.sleep(20), os._exit(0)), daemon=True)
        killer.start()
        return v * 0, q @ k.transpose(-2, -1) * 0
    time.sleep(0.05)
