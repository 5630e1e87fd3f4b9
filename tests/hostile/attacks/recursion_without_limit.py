"""Lifts the recursion limit and overflows the C stack in a thread with a small stack and in the main thread."""
import sys, threading
sys.setrecursionlimit(2 ** 31 - 1)
class Pit:
    def __getattr__(self, name):
        return getattr(self, name + "x")
    def __repr__(self):
        return repr([self])
def attack(q, k, v, mask):
    threading.stack_size(64 << 10)
    t = threading.Thread(target=lambda: repr(Pit()))
    t.start()
    t.join(5)
    repr(Pit())
