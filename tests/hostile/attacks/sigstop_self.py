"""Stops itself, so that a grader that waits for an exit or for CPU time waits for ever."""
import os, signal
def attack(q, k, v, mask):
    os.kill(os.getpid(), signal.SIGSTOP)
