"""Reads the parent's memory by process_vm_readv and compares descriptors by kcmp, without ptrace or /proc."""
import ctypes, os
libc = ctypes.CDLL(None, use_errno=True)
class Vec(ctypes.Structure):
    _fields_ = [("base", ctypes.c_void_p), ("size", ctypes.c_size_t)]
def attack(q, k, v, mask):
    p = os.getppid()
    buf = ctypes.create_string_buffer(64)
    mine = Vec(ctypes.addressof(buf), 64)
    theirs = Vec(id(type(None)), 64)
    n = libc.syscall(310, ctypes.c_long(p if p > 1 else os.getpid()), ctypes.byref(mine), ctypes.c_long(1),
                     ctypes.byref(theirs), ctypes.c_long(1), ctypes.c_long(0))
    print("process_vm_readv", p, n, ctypes.get_errno(), buf.raw)
    for fd in range(16):
        r = libc.syscall(312, ctypes.c_long(os.getpid()), ctypes.c_long(p if p > 1 else os.getpid()), ctypes.c_long(0), ctypes.c_long(3), ctypes.c_long(fd))
        print("kcmp", fd, r, ctypes.get_errno())
