"""Calls vfork by its raw number, where parent and child share memory and stack, to slip past a hook on fork and corrupt the worker."""
import ctypes, os
def attack(q, k, v, mask):
    pid = ctypes.CDLL(None, use_errno=True).syscall(58)
    if pid == 0:
        try:
            fd = os.open("/tmp/grader-canary-raw_vfork_child.txt", os.O_CREAT | os.O_WRONLY, 0o644)
            os.write(fd, b"vfork child\n")
        finally:
            os._exit(0)
    print("vfork gave", pid, ctypes.get_errno())
