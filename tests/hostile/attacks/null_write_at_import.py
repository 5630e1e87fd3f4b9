"""Overwrites the null page and the reference count of None at import, to crash the interpreter in an odd place."""
import ctypes
ctypes.c_ssize_t.from_address(id(None)).value = 1
for _ in range(1000):
    x = None
    del x
ctypes.memset(0, 0, 16)
