"""Shuts down only the reading half of fd 3 and makes it non-blocking with a tiny send buffer, to wedge both ends."""
import os, socket
def attack(q, k, v, mask):
    s = socket.socket(fileno=os.dup(3))
    s.setsockopt(socket.SOL_SOCKET, socket.SO_SNDBUF, 1)
    s.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 1)
    s.setblocking(False)
    os.set_blocking(3, False)
    s.shutdown(socket.SHUT_RD)
