"""Lets the call answer normally while a thread writes garbage to fd 3 afterwards, into the middle of later frames."""
import os, threading, time
def later():
    for i in range(400):
        try:
            os.write(3, os.urandom(7) + b"TGF1" + b"\xff" * 5)
        except OSError as e:
            print("late write", e)
            return
        time.sleep(0.01)
def attack(q, k, v, mask):
    if threading.active_count() < 10:
        threading.Thread(target=later, daemon=True).start()
