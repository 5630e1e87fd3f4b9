"""Attaches to the parent by ptrace (attach, seize, traceme), which stops it, and lets go again."""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
def attack(q, k, v, mask):
    p = os.getppid()
    zero = ctypes.c_long(0)
    print("traceme", libc.syscall(101, ctypes.c_long(0), zero, zero, zero), ctypes.get_errno())
    if p <= 1:
        return
    for name, request in (("seize", 0x4206), ("attach", 16)):
        r = libc.syscall(101, ctypes.c_long(request), ctypes.c_long(p), zero, zero)
        print(name, p, r, ctypes.get_errno())
        if r == 0:
            r = libc.syscall(101, ctypes.c_long(0x4207), ctypes.c_long(p), zero, zero)
            print("interrupt", r, ctypes.get_errno())
            print("detach", libc.syscall(101, ctypes.c_long(17), ctypes.c_long(p), zero, zero), ctypes.get_errno())
