"""Starts a process by clone3 with new user, pid and network namespaces, to become root there and outlive the worker."""
import ctypes, os, struct, time
libc = ctypes.CDLL(None, use_errno=True)
for flags in (0, 0x10000000, 0x10000000 | 0x20000000 | 0x40000000 | 0x00020000):
    args = ctypes.create_string_buffer(struct.pack("<11Q", flags, 0, 0, 0, 17, 0, 0, 0, 0, 0, 0))
    pid = libc.syscall(435, args, ctypes.c_size_t(88))
    if pid == 0:
        try:
            with open("/tmp/grader-canary-clone3_new_namespaces.txt", "a") as f:
                f.write(f"flags {flags:#x} uid {os.getuid()} pid {os.getpid()}\n")
            time.sleep(10)
        finally:
            os._exit(0)
    print(f"clone3 {flags:#x}:", pid, ctypes.get_errno())
