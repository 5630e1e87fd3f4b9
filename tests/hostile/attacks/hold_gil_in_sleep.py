"""Sleeps in C while it holds the interpreter lock, so that a watchdog thread within the worker never runs."""
import ctypes
def attack(q, k, v, mask):
    ctypes.PyDLL(None).sleep(60)
