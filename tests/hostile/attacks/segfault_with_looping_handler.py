"""Makes a null read in C with SIGSEGV ignored by a Python handler, which restarts the faulting instruction for ever."""
import ctypes, signal
signal.signal(signal.SIGSEGV, lambda *a: None)
signal.signal(signal.SIGBUS, lambda *a: None)
def attack(q, k, v, mask):
    ctypes.string_at(0)
