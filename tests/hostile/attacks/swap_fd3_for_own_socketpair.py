"""Replaces descriptor 3 by one end of an own socket pair, so that answers vanish while requests pile up unread."""
import os, socket
a, b = socket.socketpair()
keep = os.dup(3)
def attack(q, k, v, mask):
    os.dup2(a.fileno(), 3)
    os.set_inheritable(3, True)
