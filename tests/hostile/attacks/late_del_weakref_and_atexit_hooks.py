"""Leaves __del__, weakref, gc, atexit and threading hooks that run after the answer, and write frames or exit with 0."""
import atexit
import gc
import os
import threading
import weakref


def late(*a):
    try:
        os.write(3, b"TGF1\x00\x00\x00\x16" + b"\x00" * 8 + b'{"id": 1,"value":true}')
    except OSError:
        pass
    os._exit(0)


class Late(list):
    __del__ = late


atexit.register(late)
threading._register_atexit(late)
gc.callbacks.append(lambda phase, info: late() if info.get("generation") == 2 else None)


def attack(q, k, v, mask):
    weakref.finalize(q, late)
    return Late([q, v])
